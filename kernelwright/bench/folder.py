"""The user's own problem files as a suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kernelwright.problem_files import read_problem
from kernelwright.suites.suite import SuiteProblem
from services.domain.errors import UserError


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
