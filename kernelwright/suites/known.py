"""The suites that `--suite` may name, and items of them named by their path."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kernelwright.problem_files import read_problem
from kernelwright.suites import kernelbench
from kernelwright.suites.atrex import AtrexBench
from kernelwright.suites.flashinfer_bench import FlashInferBench
from kernelwright.suites.gpu_mode import GpuMode
from kernelwright.suites.kernelbench_com import KernelBenchCom
from kernelwright.suites.multikernelbench import MultiKernelBench
from kernelwright.suites.robust_kbench import RobustKBench
from kernelwright.suites.sol_execbench import SolExecBench
from kernelwright.suites.suite import Form, ItemSuite, Suite, read_item
from services.domain.errors import UserError
from services.domain.problems import Problem

FORMS: tuple[Form, ...] = (
    KernelBenchCom(),
    GpuMode(),
    SolExecBench(),
    FlashInferBench(),
    AtrexBench(),
    RobustKBench(),
    MultiKernelBench(),
)
"""One for each suite besides KernelBench, whose items are problem files as they are."""
NAMES = ("kernelbench", *(form.name for form in FORMS))


def open_suite(name: str, path: Path | None, level: int | None, part: str | None = None) -> Suite:
    """A suite by its name: all of a checkout, or the folder `part` of it. Raises `UserError` for an unknown one and for
    what it lacks."""
    if name not in NAMES:
        raise UserError(f"unknown suite {name!r}; known: {', '.join(NAMES)}")
    if path is None:
        raise UserError(f"--suite {name} is read from a checkout: name its folder with --path")
    if name == "kernelbench":
        if part is not None:
            raise UserError("KernelBench has levels: use --level 1, 2, 3 or 4 instead of --part")
        if level not in kernelbench.LEVELS:
            raise UserError("--suite kernelbench needs a level: --level 1, 2, 3 or 4")
        return kernelbench.KernelBench(path, level)
    if level is not None:
        raise UserError(f"{name} has no levels: name a folder of the checkout with --part")
    return ItemSuite(next(form for form in FORMS if form.name == name), path, part)


def named_problem(
    path: Path, variant: str | None = None, allow_library: tuple[str, ...] = (), objective: str = ""
) -> Problem:
    """The problem that a path names: a file in KernelBench form, or a suite's item. Raises `UserError`.

    `variant` tells which one where an item holds several: its number, or what its name ends with."""
    form = next((form for form in FORMS if form.holds(path)), None)
    if form is None:
        if path.is_dir():
            raise UserError(f"{path}: the folder is no item of a suite ({', '.join(NAMES[1:])}): name a problem file")
        if variant is not None:
            raise UserError(f"{path} holds one problem: leave out --item {variant}")
        return read_problem(path, allow_library, objective)
    found = read_item(form, path, path.stem)
    chosen = [one for one in found if variant in (None, str(one.number)) or one.key.endswith(f".{variant}")]
    if len(chosen) != 1:
        names = ", ".join(f"{one.number} ({one.key.removeprefix(f'{path.stem}.')})" for one in found)
        asked = "add --item NUMBER" if variant is None else f"none is {variant}"
        raise UserError(f"{path} holds {len(found)} problems, {asked}: {names}")
    one = chosen[0].problem
    return replace(one, allow_library=allow_library, objective=objective)
