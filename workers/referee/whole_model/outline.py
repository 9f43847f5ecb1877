"""A traced model as a straight sequence of PyTorch calls, block by block, from which its parts can be swapped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from services.domain.models import ModelBlock, ModelOutline, StateEntry
from workers.referee.problem.reference_problem import ReferenceProblem
from workers.referee.whole_model.call_text import Node, call_text, identifier
from workers.referee.whole_model.part_problems import Piece

MOST_CONSTANT = 4096
"""Elements of a tensor that forward makes from numbers and that is written into the model."""


class UnwritableError(Exception):
    """The model cannot be written as a sequence of calls. Attributes: `remedy`, and the `node` at fault, if one is."""

    def __init__(self, reason: str, remedy: str, node: Node | None = None) -> None:
        self.remedy = remedy
        self.node = node
        super().__init__(reason)


class Names:
    """Under which expression each value of a traced program is known in the written model."""

    def __init__(self, program: Any) -> None:
        self._program = program
        self._expressions: dict[str, str] = {}
        self.constants: list[tuple[str, str]] = []
        self.inputs: list[str] = []
        for spec in program.graph_signature.input_specs:
            kind, name = spec.kind.name, str(getattr(spec.arg, "name", ""))
            if kind == "USER_INPUT":
                self.inputs.append(identifier(name))
                self._expressions[name] = self.inputs[-1]
            elif kind in ("PARAMETER", "BUFFER"):
                self._expressions[name] = attribute(spec.target)
            elif kind == "CONSTANT_TENSOR":
                self._expressions[name] = self._constant(spec.target)
            else:
                raise UnwritableError(f"the graph takes a {kind.lower()} as input", "Pass tensors and numbers only.")

    def __call__(self, node: Node) -> str:
        """The expression of a node's value."""
        return self._expressions.get(node.name) or identifier(node.name)

    def _constant(self, target: str) -> str:
        value = self._program.constants[target]
        if value.numel() > MOST_CONSTANT:
            raise UnwritableError(
                f"forward makes a table of {value.numel()} numbers", "Make it a buffer in the constructor."
            )
        name = f"constant_{len(self.constants)}"
        numbers = _listed(value.tolist())
        self.constants.append((name, f"torch.tensor({numbers}, dtype={value.dtype})"))
        return f"self.{name}"


def attribute(path: str) -> str:
    """`self.blocks._modules["0"].weight` for `blocks.0.weight`."""
    text = "self"
    for part in path.split("."):
        text += f".{part}" if part.isidentifier() else f'._modules["{part}"]'
    return text


def state_of(problem: ReferenceProblem) -> tuple[StateEntry, ...]:
    """Parameters and buffers in order of registration."""
    found = []
    groups = ((False, problem.model.named_parameters()), (True, problem.model.named_buffers()))
    for is_buffer, group in groups:
        for path, value in group:
            dtype = str(value.dtype).removeprefix("torch.")
            found.append(StateEntry(path=path, shape=tuple(value.shape), dtype=dtype, is_buffer=is_buffer))
    return tuple(found)


def block_of(group: Sequence[Node], piece: Piece, named: Names, part: int | None) -> ModelBlock:
    """One group as lines of the model; the operators that run in it are not known yet."""
    return ModelBlock(
        part=part,
        lines=tuple(f"{named(node)} = {call_text(node, named)}" for node in group),
        arguments=tuple(_argument(node, named) for node in piece.inputs),
        results=tuple(named(node) for node in piece.results),
        operators=(),
    )


def outline_of(
    problem: ReferenceProblem, program: Any, named: Names, blocks: Sequence[ModelBlock], inputs: Sequence[object]
) -> ModelOutline:
    """The whole model."""
    shapes = [
        (name, tuple(value.shape))
        for name, value in zip(named.inputs, inputs, strict=True)
        if isinstance(value, torch.Tensor)
    ]
    return ModelOutline(
        name=problem.problem.name,
        inputs=tuple(named.inputs),
        shapes=tuple(shapes),
        state=state_of(problem),
        constants=tuple(named.constants),
        blocks=tuple(blocks),
        result=_result(program, named),
    )


def flat_inputs(problem: ReferenceProblem, program: Any, inputs: Sequence[object]) -> list[Any]:
    """The values of a program's placeholders, in order."""
    state: dict[str, torch.Tensor] = {}
    state |= problem.model.named_parameters(remove_duplicate=False)
    state |= problem.model.named_buffers(remove_duplicate=False)
    sources: Mapping[str, Any] = {"PARAMETER": state, "BUFFER": state, "CONSTANT_TENSOR": program.constants}
    given = iter(inputs)
    return [
        next(given) if spec.kind.name == "USER_INPUT" else sources[spec.kind.name][spec.target]
        for spec in program.graph_signature.input_specs
    ]


def _argument(node: Node, named: Names) -> str:
    """Kernels are judged on tensors that lie row by row: others are copied first, as `contiguous` does."""
    value = node.meta.get("val")
    laid_out = not isinstance(value, torch.Tensor) or value.is_contiguous()
    return named(node) if laid_out else f"{named(node)}.contiguous()"


def _result(program: Any, named: Names) -> str:
    for spec in program.graph_signature.output_specs:
        if spec.kind.name != "USER_OUTPUT":
            raise UnwritableError("forward changes its inputs or a buffer", "Put the model in eval mode.")
    nodes = program.graph.output_node().args[0]
    if any(not isinstance(node, torch.fx.Node) for node in nodes):
        raise UnwritableError("forward returns something that is not a tensor", "Return tensors only.")
    kind = program.call_spec.out_spec.type if program.call_spec.out_spec is not None else None
    names = [named(node) for node in nodes]
    if kind is list:
        return f"[{', '.join(names)}]"
    if kind is tuple:
        return f"({', '.join(names)},)"
    if kind is not None:
        raise UnwritableError(f"forward returns a {kind.__name__}", "Return a tensor, or a tuple of tensors.")
    return names[0]


def _listed(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_listed(item) for item in value)}]"
    return f'float("{value}")' if isinstance(value, float) and not math.isfinite(value) else repr(value)
