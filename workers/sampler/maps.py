"""Which file the code at an address comes from, as the kernel has it."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Mapping:
    """A piece of a process's memory that holds code."""

    start: int
    end: int
    offset: int
    """Where in the file it begins."""
    inode: int
    path: str
    """Empty for memory without a file; `[vdso]` and the like in brackets."""

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.path.rpartition("/")[2].removesuffix(" (deleted)")


class CodeMap:
    """The mappings of one process that may be executed."""

    def __init__(self, mappings: Sequence[Mapping]) -> None:
        self._mappings = sorted(mappings, key=lambda one: one.start)
        self._starts = [one.start for one in self._mappings]

    @classmethod
    def of(cls, process: int) -> CodeMap:
        """Of a process now; empty where it is gone."""
        try:
            text = Path(f"/proc/{process}/maps").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return cls([])
        return cls(parse_maps(text))

    def find(self, address: int) -> Mapping | None:
        """The mapping that an address lies in."""
        index = bisect.bisect_right(self._starts, address) - 1
        if index < 0 or address >= self._mappings[index].end:
            return None
        return self._mappings[index]

    def __len__(self) -> int:
        return len(self._mappings)


def parse_maps(text: str) -> list[Mapping]:
    """The executable lines of `/proc/PID/maps`."""
    found = []
    for line in text.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) < 5 or "x" not in fields[1]:
            continue
        start, _, end = fields[0].partition("-")
        found.append(
            Mapping(
                start=int(start, 16),
                end=int(end, 16),
                offset=int(fields[2], 16),
                inode=int(fields[4]),
                path=fields[5] if len(fields) > 5 else "",
            )
        )
    return found
