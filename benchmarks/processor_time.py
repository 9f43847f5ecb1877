"""Processor time of processes that come and go."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.e2e.programs import descendants

LOOK_S = 0.5
TICKS_S = 100.0


class ProcessorTime:
    """What trees of processes use while the context lasts: sampled twice a second, so that what a process had used
    when it was killed is counted up to half a second."""

    def __init__(self, roots: Callable[[], Mapping[str, Sequence[int]]]) -> None:
        self._roots = roots
        self._first: dict[tuple[str, int], float] = {}
        self._last: dict[tuple[str, int], float] = {}
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look_on, daemon=True)

    def __enter__(self) -> Self:
        self._look(is_first=True)
        self._looking.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._looking.join()

    @property
    def used_s(self) -> dict[str, float]:
        """Seconds by the names of the trees."""
        used: dict[str, float] = defaultdict(float)
        for (name, pid), last_s in self._last.items():
            used[name] += last_s - self._first.get((name, pid), 0.0)
        return dict(used)

    def _look_on(self) -> None:
        while not self._over.wait(LOOK_S):
            self._look()
        self._look()

    def _look(self, *, is_first: bool = False) -> None:
        for name, roots in self._roots().items():
            for root in roots:
                for pid in (root, *descendants(root)):
                    used_s = _used_s(pid)
                    if used_s is not None:
                        self._last[name, pid] = used_s
                        if is_first:
                            self._first[name, pid] = used_s


def _used_s(pid: int) -> float | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / TICKS_S
