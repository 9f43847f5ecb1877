"""Samples in a candidate's own library by source line and kind of instruction, from a disassembly with lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

_ADDRESS = re.compile(r"^\s*(?P<address>[0-9a-f]+):\t(?P<text>.*)$")
_LINE = re.compile(r"^(?:/|\.|[\w-]+\.)\S*?(?P<file>[^/\s:]+):(?P<line>\d+)(?: \(discriminator \d+\))?$")
_FUNCTION = re.compile(r"^[0-9a-f]+ <(?P<name>.+)>:$")
_WIDE = re.compile(r"%[yz]mm\d|\bv\d+\.(?:16b|8h|4s|2d)|\bz\d+\.[bhsd]")
_PACKED = re.compile(r"^v?(?:add|sub|mul|div|sqrt|max|min|fn?m(?:add|sub)\d*|mov[ua]|cvt\w+2|and|or|xor|cmp\w*)p[sd]\b")
_SCALAR = re.compile(
    r"^v?(?:add|sub|mul|div|sqrt|max|min|fn?m(?:add|sub)\d*|mov|cvt\w+2?|u?comi|cmp\w*|round|rsqrt|rcp)s[sd]\b"
)
_SPILL = re.compile(r"^v?mov\w*\b.*-?0x[0-9a-f]+\(%r[sb]p\)")
SOURCE_FILE = "kernel.cpp"


@dataclass(frozen=True, kw_only=True)
class HotSpots:
    """Where the candidate's own code spends its time."""

    samples: int
    lines: Mapping[int, int]
    """Samples by line of the compiled source."""
    functions: Mapping[str, int]
    vector: int
    """Samples at instructions that work on several elements."""
    scalar: int
    """Samples at instructions that work on one floating-point element."""
    spills: int
    """Samples at moves between registers and the stack."""

    @property
    def hottest(self) -> int | None:
        """The line most samples lie in."""
        return max(self.lines, key=lambda line: self.lines[line], default=None)


def hot_spots(listing: str, places: Mapping[int, int]) -> HotSpots:
    """What a listing (objdump with line numbers; addresses are offsets of the file) says of sampled offsets."""
    lines: Counter[int] = Counter()
    functions: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    line, function, found = 0, "", 0
    for text in listing.splitlines():
        instruction = _ADDRESS.match(text)
        if instruction is None:
            line, function = _where(text, line, function)
            continue
        count = places.get(int(instruction["address"], 16), 0)
        if count:
            found += count
            lines[line] += count
            functions[function] += count
            kinds[_kind(instruction["text"])] += count
    return HotSpots(
        samples=found,
        lines={number: count for number, count in lines.most_common(50) if number},
        functions=dict(functions.most_common(10)),
        vector=kinds["vector"],
        scalar=kinds["scalar"],
        spills=kinds["spill"],
    )


def _where(text: str, line: int, function: str) -> tuple[int, str]:
    begun = _FUNCTION.match(text)
    if begun is not None:
        return 0, begun["name"]
    marked = _LINE.match(text)
    if marked is None:
        return line, function
    return (int(marked["line"]) if marked["file"] == SOURCE_FILE else line), function


def _kind(instruction: str) -> str:
    if _SPILL.match(instruction):
        return "spill"
    if _WIDE.search(instruction) or _PACKED.match(instruction):
        return "vector"
    return "scalar" if _SCALAR.match(instruction) else "other"


_CALL = re.compile(r"statement clobbers memory: (?:\S+ = )?(?P<function>[a-z]\w*) \(")
_REMARK = re.compile(rf"^{re.escape(SOURCE_FILE)}:(?P<line>\d+):\d+: missed:\s+(?P<text>.*)$")


def missed_vectorisation(remarks: str) -> dict[int, str]:
    """By line of the source: why the compiler did not vectorise the loop there, the most telling of its remarks."""
    found: dict[int, str] = {}
    for text in remarks.splitlines():
        match = _REMARK.match(text)
        if match is None:
            continue
        line, said = int(match["line"]), match["text"].strip()
        called = _CALL.match(said)
        if called is not None:
            found[line] = f"`{called['function']}` is called for each element, and has no vector form with these flags"
        elif (
            said.startswith(("not vectorized:", "couldn't vectorize")) and found.get(line, "couldn't")[:8] == "couldn't"
        ):
            found[line] = said.removeprefix("not vectorized: ")[:200]
    return found
