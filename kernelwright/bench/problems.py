"""Which problems a bench solves: the user's own files as a suite, and the numbers of `--problems 1-20,33`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kernelwright.problem_files import read_problem
from kernelwright.suites.suite import SuiteProblem
from services.domain.errors import UserError

Span = tuple[int, int]
"""First and last number."""
_SPAN = re.compile(r"(\d+)(?:\s*-\s*(\d+))?")


class ProblemFolder:
    """Problem files and folders of them; numbers are their places, from 1."""

    name = "files"
    level = None

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths

    def problems(self) -> tuple[SuiteProblem, ...]:
        """As they were named, a folder's by name."""
        files = problem_files(self._paths)
        stems = Counter(path.stem for path in files)
        keys = [path.stem if stems[path.stem] == 1 else f"{path.absolute().parent.name}.{path.stem}" for path in files]
        for path, key in zip(files, keys, strict=True):
            if keys.count(key) > 1:
                raise UserError(f"{path}: two problems are called {key}: rename a file")
        return tuple(
            SuiteProblem(number=number, key=key, problem=read_problem(path))
            for number, (key, path) in enumerate(zip(keys, files, strict=True), start=1)
        )


def problem_files(paths: Sequence[Path]) -> list[Path]:
    """The problem files that paths name; folders stand for their `*.py`. Raises `UserError`."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(entry for entry in path.glob("*.py") if not entry.name.startswith("_"))
            if not inside:
                raise UserError(f"{path}: the folder has no problem files (*.py)")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise UserError(f"{path}: no such file or folder")
    return list(dict.fromkeys(found))


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
