"""The suites that `--suite` may name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kernelwright.benching import kernelbench
from kernelwright.benching.suite import Suite
from services.domain.errors import UserError


def _kernelbench(checkout: Path, level: int | None) -> Suite:
    if level not in kernelbench.LEVELS:
        raise UserError("--suite kernelbench needs a level: --level 1, 2, 3 or 4")
    return kernelbench.KernelBench(checkout, level)


SUITES: dict[str, Callable[[Path, int | None], Suite]] = {"kernelbench": _kernelbench}
"""By name: the suite in a folder, and which of its levels."""


def open_suite(name: str, path: Path | None, level: int | None) -> Suite:
    """A suite by its name. Raises `UserError` for an unknown one and for what it lacks."""
    make = SUITES.get(name)
    if make is None:
        raise UserError(f"unknown suite {name!r}; known: {', '.join(SUITES)}")
    if path is None:
        raise UserError(f"--suite {name} is read from a checkout: name its folder with --path")
    return make(path, level)
