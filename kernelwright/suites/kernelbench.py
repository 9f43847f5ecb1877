"""KernelBench (Ouyang et al. 2025), read from a checkout: `KernelBench/level1/19_ReLU.py` is problem 19 of level 1."""

from __future__ import annotations

import re
from pathlib import Path

from kernelwright.problem_files import read_problem
from kernelwright.suites.suite import SuiteProblem
from services.domain.errors import UserError

LEVELS = (1, 2, 3, 4)
_FILE = re.compile(r"(\d+)_.*\.py")
_ADVICE = "git clone https://github.com/ScalingIntelligence/KernelBench, and name its folder with --path"


class KernelBench:
    """One level of a checkout."""

    name = "kernelbench"

    def __init__(self, checkout: Path, level: int) -> None:
        self._checkout = checkout
        self._level = level

    @property
    def level(self) -> int:
        """1 single operators, 2 fused ones, 3 whole architectures, 4 published models."""
        return self._level

    def problems(self) -> tuple[SuiteProblem, ...]:
        """The level's problems by number."""
        found: dict[int, Path] = {}
        for path in sorted(self._folder().glob("*.py")):
            name = _FILE.fullmatch(path.name)
            if name is None:
                continue
            other = found.setdefault(int(name[1]), path)
            if other != path:
                raise UserError(f"{path}: {other.name} has the same number: check the level out anew")
        if not found:
            raise UserError(f"{self._folder()}: no problems (NUMBER_NAME.py): {_ADVICE}")
        return tuple(
            SuiteProblem(number=number, key=found[number].stem, problem=read_problem(found[number]))
            for number in sorted(found)
        )

    def _folder(self) -> Path:
        """The level's folder, in the checkout or in its folder `KernelBench`."""
        inner = f"level{self._level}"
        for folder in (self._checkout / "KernelBench" / inner, self._checkout / inner):
            if folder.is_dir():
                return folder
        raise UserError(f"{self._checkout}: no folder KernelBench/{inner}: {_ADVICE}")
