"""`--problems 1-20,33`: which ones of a suite."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelwright.suites.suite import SuiteProblem
from services.domain.errors import UserError

Span = tuple[int, int]
"""First and last number."""
_SPAN = re.compile(r"(\d+)(?:\s*-\s*(\d+))?")


def spans(text: str) -> tuple[Span, ...]:
    """The spans that a list of numbers and ranges names. Raises `UserError`."""
    return tuple(_span(part.strip()) for part in text.split(","))


def selected(problems: Sequence[SuiteProblem], text: str | None) -> tuple[SuiteProblem, ...]:
    """The problems of a selection in order of their numbers, each once; all without one. Raises `UserError`."""
    if text is None:
        return tuple(problems)
    known = {item.number: item for item in problems}
    chosen = spans(text)
    first, last = min(known), max(known)
    for low, high in chosen:
        outside = next((number for number in (low, high) if number not in known), None)
        if outside is not None:
            raise UserError(f"--problems {text}: there is no problem {outside}; choose from {first}-{last}")
    return tuple(known[number] for number in sorted(known) if any(low <= number <= high for low, high in chosen))


def _span(part: str) -> Span:
    found = _SPAN.fullmatch(part)
    if found is None:
        raise UserError(f"--problems: {part!r} is no number or range: write for example 1-20,33")
    low = int(found[1])
    high = low if found[2] is None else int(found[2])
    if high < low:
        raise UserError(f"--problems: {part!r} ends before it begins: write {high}-{low}")
    return low, high
