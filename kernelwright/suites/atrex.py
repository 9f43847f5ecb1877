"""Atrex-Bench: folders of `reference.py` (`Model`), `input.py` (`_make_inputs`, tensors by name) and `shapes.json`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.suites.composition import Shape, init_function, input_functions, module, split_by, variant
from kernelwright.suites.literals import json_file, module_tree
from kernelwright.suites.modules import bundled, portable
from kernelwright.suites.suite import Reading, outdated

_ARGUMENTS = '''def _arguments(**shape):
    """The suite passes inputs by name; here they go by place."""
    made = _make_inputs(**shape)
    names = {names!r}
    assert set(made) <= set(names), f"inputs that forward does not take: {{set(made) - set(names)}}"
    return [made[name] for name in names if name in made]'''
_FILES = ("reference.py", "input.py", "shapes.json")


class AtrexBench:
    """A checkout of Atrex-Bench."""

    name = "atrex-bench"
    advice = "git clone https://github.com/alibaba/atrex-bench, and name its folder with --path"

    def find(self, checkout: Path) -> Sequence[Path]:
        """Folders with all three files."""
        return [path.parent for path in sorted(checkout.rglob("shapes.json")) if self.holds(path.parent)]

    def holds(self, path: Path) -> bool:
        """Whether a folder has all three files."""
        return all((path / name).is_file() for name in _FILES)

    def read(self, item: Path) -> Sequence[Reading]:
        """One problem for each way to build the model."""
        shapes = _shapes(item / "shapes.json")
        reference, inputs = item / "reference.py", item / "input.py"
        names = _forward_names(reference)
        text = module(
            bundled(reference, ["Model"], {}),
            bundled(inputs, ["_make_inputs"], {}).removeprefix("from __future__ import annotations\n"),
        )
        groups = split_by([shape["init_kwargs"] | {"": shape["input_kwargs"]} for shape in shapes], _names(shapes))
        readings = []
        for group in groups:
            init = {name: value for name, value in group[0].items() if name}
            calls = [f"_arguments(**{shape['']!r})" for shape in group]
            parts = [_ARGUMENTS.format(names=names), input_functions(calls), init_function(repr(init))]
            readings.append(
                Reading(
                    source=portable(module(text, *parts)),
                    variant=_variant(init, groups),
                )
            )
        return readings


def _variant(init: Shape, groups: Sequence[Sequence[Shape]]) -> str:
    named = variant([init], [[{name: value for name, value in one[0].items() if name}] for one in groups])
    return named or ("defaults" if len(groups) > 1 else "")


def _shapes(path: Path) -> list[dict[str, Any]]:
    data = json_file(path)
    if not isinstance(data, dict) or not data or not all(isinstance(one, dict) for one in data.values()):
        raise outdated("it holds no shapes by number", path)
    found = []
    for number, one in data.items():
        init, inputs = one.get("init_kwargs") or {}, one.get("input_kwargs")
        if not isinstance(init, dict) or not isinstance(inputs, dict):
            raise outdated(f"the shape {number} has no input_kwargs", path)
        found.append({"init_kwargs": init, "input_kwargs": inputs})
    return found


def _names(shapes: Sequence[dict[str, Any]]) -> set[str]:
    return {name for shape in shapes for name in shape["init_kwargs"]}


def _forward_names(path: Path) -> list[str]:
    _, tree = module_tree(path, "reference")
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            for one in node.body:
                if isinstance(one, ast.FunctionDef) and one.name == "forward":
                    return [argument.arg for argument in one.args.args[1:]]
    raise outdated("it defines no Model with a forward", path)
