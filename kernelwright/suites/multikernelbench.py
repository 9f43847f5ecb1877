"""MultiKernelBench: `reference/CATEGORY/NAME.py`, in KernelBench form or with cases in `NAME.json`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from kernelwright.problem_files import read_source
from kernelwright.suites.composition import input_functions, module
from kernelwright.suites.definitions import MOST_TIMED
from kernelwright.suites.literals import json_lines, module_tree
from kernelwright.suites.modules import portable
from kernelwright.suites.suite import Reading, outdated
from services.domain.errors import ProblemError

FOLDER = "reference"
_CASES = """# What follows was added: the suite reads its cases from a file.
_CASES = {cases!r}


def open(*_arguments, **_options):
    import io

    return io.StringIO(_CASES[_case])


def _arguments(case):
    globals()["_case"] = case
    return get_input_groups()[0]"""


class MultiKernelBench:
    """A checkout of MultiKernelBench. References are the same for every platform; kernels are asked for in CUDA,
    Triton or C++."""

    name = "multikernelbench"
    advice = "git clone https://github.com/wzzll123/MultiKernelBench, and name its folder with --path"

    def find(self, checkout: Path) -> Sequence[Path]:
        """Reference files."""
        root = checkout if checkout.name == FOLDER else checkout / FOLDER
        return [path for path in sorted(root.glob("*/*.py")) if not path.name.startswith("_")]

    def holds(self, path: Path) -> bool:
        """Whether a path is a reference file of a checkout: two folders below one with `dataset.py`."""
        return path.suffix == ".py" and path.parent.parent.name == FOLDER and (path.parents[2] / "dataset.py").is_file()

    def read(self, item: Path) -> Sequence[Reading]:
        """The file's one problem; cases beyond the first eight are held out."""
        text, tree = module_tree(item, "reference")
        modules = {
            alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }
        if "torch_npu" in modules:
            raise ProblemError("it needs an Ascend NPU (torch_npu)", remedy="Leave the item out.", path=str(item))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        if "get_input_groups" in functions and "get_inputs" not in functions:
            text = module(text, *_with_cases(item))
        return [Reading(source=portable(text), group=item.parent.name)]


def _with_cases(item: Path) -> list[str]:
    path = item.with_suffix(".json")
    json_lines(path)
    cases = [line for line in read_source(path, "list of cases").splitlines() if line.strip()]
    if not cases:
        raise outdated("it has no cases", path)
    timed = [f"_arguments({number})" for number in range(min(len(cases), MOST_TIMED))]
    hidden = range(MOST_TIMED, len(cases))
    functions = [f"def _held_out_{number}():\n    return _arguments({number})\n" for number in hidden]
    names = ", ".join(f"_held_out_{number}" for number in hidden)
    return [
        _CASES.format(cases=cases),
        input_functions(timed),
        *functions,
        f"HELD_OUT = [{names}]" if functions else "",
    ]
