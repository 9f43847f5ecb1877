"""Sizes that a candidate's own source names: the bounds of its arrays, and what it compares sizes with."""

from __future__ import annotations

import re

MOST = 1 << 20
"""Largest size that is tried for its name's sake."""
LEAST = 12
_WHOLE = r"(?:0[xX][0-9a-fA-F]+|\d+)"
_NAMED = re.compile(rf"(?<![\w.])({_WHOLE})(?:[uUlLzZ]{{0,3}})(?:\s*(<<|\*)\s*({_WHOLE})(?![\w.]))?(?![\w.])")


def named_sizes(source: str) -> list[int]:
    """Whole numbers between `LEAST` and `MOST` in a source, and what a product or a shift of two makes of them, in
    order."""
    found = set[int]()
    for one in _NAMED.finditer(source):
        first = int(one[1], 0) if one[1].lower().startswith("0x") else int(one[1])
        numbers = [first]
        if one[3] is not None:
            second = int(one[3], 0) if one[3].lower().startswith("0x") else int(one[3])
            numbers += [second, first * second if one[2] == "*" else first << min(second, 32)]
        found.update(number for number in numbers if LEAST <= number <= MOST)
    return sorted(found)
