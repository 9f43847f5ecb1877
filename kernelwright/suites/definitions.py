"""Definitions (axes, inputs, a reference `run`) and workloads: what SOL-ExecBench and FlashInfer-Bench share."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.suites.composition import init_function, input_functions, module
from kernelwright.suites.literals import NotConstantError, evaluated
from kernelwright.suites.modules import DEVICE, portable
from kernelwright.suites.safetensors import EXACT, packed
from services.domain.errors import ProblemError

MOST_TIMED = 8
"""Workloads of one definition that become input sets, evenly chosen; the others are held out."""
_WHOLE = {"int8": (-128, 128), "int16": (-1024, 1024), "int32": (-1024, 1024), "int64": (-1024, 1024)}
_FLOATS = ("float64", "float32", "float16", "bfloat16")
_SMALL_FLOATS = ("float8_e4m3fn", "float8_e5m2")
_POSITIVE = ("rstd", "std", "variance", "var")


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One definition file."""

    path: Path
    data: Mapping[str, Any]
    reference: str
    """The text that defines `run`."""
    blobs: Path
    """The folder that paths of tensor files are relative to."""

    def error(self, reason: str, remedy: str = "Check the suite out anew.") -> ProblemError:
        """An error that points at the file."""
        return ProblemError(reason, remedy=remedy, path=str(self.path))


def problem_source(definition: Definition, workloads: Sequence[Mapping[str, Any]]) -> str:
    """The definition as a problem over its workloads. Raises `ProblemError`."""
    names = list(_mapping(definition, "inputs"))
    _check_run(definition, names)
    unique = list({repr((w.get("axes"), w.get("inputs"))): w for w in workloads}.values())
    if not unique:
        raise definition.error("it has no workloads")
    calls = [_arguments(definition, workload) for workload in unique]
    step = max(1, -(-len(calls) // MOST_TIMED))
    timed, held_out = calls[::step], [call for index, call in enumerate(calls) if index % step]
    arguments = ", ".join(names)
    text = module(
        "from __future__ import annotations\n\nimport torch\n",
        EXACT if any("_exact(" in call for call in calls) else "",
        _without_future(definition.reference),
        f"class Model(torch.nn.Module):\n    def forward(self, {arguments}):\n        return run({arguments})",
        input_functions(timed),
        _held_out(held_out),
        init_function(),
    )
    return portable(text)


def _mapping(definition: Definition, name: str) -> Mapping[str, Any]:
    found = definition.data.get(name)
    if not isinstance(found, dict) or not found:
        raise definition.error(f"it has no {name}")
    return found


def _check_run(definition: Definition, names: Sequence[str]) -> None:
    try:
        tree = ast.parse(definition.reference)
    except (SyntaxError, ValueError) as error:
        raise definition.error(f"its reference has a syntax error: {error}") from None
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "run"]
    if not found:
        raise definition.error("its reference defines no function run")
    given = len(found[-1].args.args)
    if given != len(names):
        raise definition.error(f"run takes {given} arguments, and the definition names {len(names)} inputs")
    if any(not name.isidentifier() for name in names):
        raise definition.error("a name of an input is no Python name")


def _arguments(definition: Definition, workload: Mapping[str, Any]) -> str:
    """An expression for the list of arguments of one workload."""
    axes = _axes(definition, workload.get("axes") or {})
    sources = workload.get("inputs") or {}
    texts, custom = [], False
    for name, spec in _mapping(definition, "inputs").items():
        source = sources.get(name) or {"type": "random"}
        if source.get("type") == "custom":
            custom = True
            texts.append(f"made[{name!r}]")
        else:
            texts.append(_drawn(definition, name, spec, source, axes))
    if not custom:
        return f"[{', '.join(texts)}]"
    entry = definition.data.get("custom_inputs_entrypoint")
    if not isinstance(entry, str) or not entry.isidentifier():
        raise definition.error(
            "a workload asks for custom inputs, and the definition names no custom_inputs_entrypoint"
        )
    scalars = {name: one["value"] for name, one in sources.items() if one.get("type") == "scalar"}
    made = f"{entry}({axes | scalars!r}, torch.device({DEVICE}))"
    return f"(lambda made: [{', '.join(texts)}])({made})"


def _axes(definition: Definition, given: Mapping[str, Any]) -> dict[str, Any]:
    """Every axis with its value. Raises `ProblemError`."""
    known: dict[str, Any] = {}
    for name, axis in _mapping(definition, "axes").items():
        kind = axis.get("type")
        if kind == "const":
            known[name] = axis.get("value")
        elif kind == "var":
            if not isinstance(given.get(name), int):
                raise definition.error(f"a workload gives the axis {name} no whole number")
            known[name] = given[name]
    for name, axis in _mapping(definition, "axes").items():
        if axis.get("type") == "expr":
            try:
                known[name] = int(evaluated(ast.parse(str(axis.get("expression")), mode="eval").body, known))
            except (NotConstantError, SyntaxError, ValueError) as error:
                raise definition.error(f"the axis {name} cannot be computed: {error}") from None
        elif name not in known:
            raise definition.error(f"the axis {name} is of the unknown type {axis.get('type')!r}")
    return known


def _drawn(
    definition: Definition, name: str, spec: Mapping[str, Any], source: Mapping[str, Any], axes: Mapping[str, Any]
) -> str:
    """An expression for one input."""
    kind, dtype, shape = source.get("type"), str(spec.get("dtype")), spec.get("shape")
    if kind == "scalar":
        return repr(source.get("value"))
    if kind == "safetensors":
        return packed(definition.blobs, source, name, str(definition.path))
    if kind != "random":
        raise definition.error(f"the input {name} is of the unknown type {kind!r}")
    if shape is None:
        raise definition.error(f"the number {name} has no value in a workload")
    try:
        sizes = tuple(evaluated(ast.parse(str(one), mode="eval").body, axes) for one in shape)
    except (NotConstantError, SyntaxError) as error:
        raise definition.error(f"the shape of {name} cannot be computed: {error}") from None
    return _random(definition, name, dtype, sizes)


def _random(definition: Definition, name: str, dtype: str, sizes: tuple[Any, ...]) -> str:
    if dtype in _FLOATS:
        text = f"torch.randn({sizes}, dtype=torch.{dtype})"
        if name.rpartition("_")[2] in _POSITIVE:
            return f"({text}.abs() + 0.1)"
        is_weight = len(sizes) > 1 and ("weight" in name or name.endswith(("_proj", "_projs")))
        return f"({text} * {sizes[-1] ** -0.5:.6g})" if is_weight else text
    if dtype in _SMALL_FLOATS:
        return f"torch.randn({sizes}).clamp(-2, 2).to(torch.{dtype})"
    if dtype == "bool":
        return f"(torch.rand({sizes}) < 0.5)"
    if dtype in _WHOLE:
        low, high = _WHOLE[dtype]
        return f"torch.randint({low}, {high}, {sizes}, dtype=torch.{dtype})"
    raise definition.error(f"the input {name} has the dtype {dtype}, which cannot be drawn", "Leave the item out.")


def _held_out(calls: Sequence[str]) -> str:
    if not calls:
        return ""
    functions = [f"def _held_out_{index}():\n    return {call}" for index, call in enumerate(calls)]
    names = ", ".join(f"_held_out_{index}" for index in range(len(calls)))
    return "\n\n\n".join([*functions, f"HELD_OUT = [{names}]"])


def _without_future(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("from __future__"))
