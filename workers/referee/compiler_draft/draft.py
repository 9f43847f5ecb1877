"""A draft of a model, from the compiler's code for its inputs. Runs the problem's own code: in the baseline process."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import torch

from workers.referee.compiler_draft import capture
from workers.referee.compiler_draft.graph import CompiledGraph, DraftedProblem, NoDraftError
from workers.referee.compiler_draft.module import written
from workers.runner.answers import CodeDrafted


def draft(
    model: Callable[..., Any], inputs: Sequence[Sequence[Any]], name: str, library: frozenset[str], way: str
) -> CodeDrafted:
    """The source of a candidate, or the `reason` why there is none. `inputs`: arguments of `forward`, a list a set.

    `way` of `capture.OPTIONS` holds for the known sizes; the code for any size is the compiler's without a search."""
    assert isinstance(model, torch.nn.Module)
    own = [[_apart(value) for value in arguments] for arguments in inputs]
    try:
        problem = _problem(model, own, name, library, way)
        try:
            return CodeDrafted(source=written(problem))
        except NoDraftError:
            if len(problem.graphs) == 1 or not problem.graphs[-1].dynamic:
                raise
            return CodeDrafted(source=written(dataclasses.replace(problem, graphs=problem.graphs[:-1])))
    except NoDraftError as reason:
        return CodeDrafted(reason=str(reason))


def _apart(value: Any) -> Any:
    """A tensor in memory of its own: those of an input set share a block, which the compiler would take for aliases."""
    return value.clone() if isinstance(value, torch.Tensor) else value


def _problem(
    model: torch.nn.Module, inputs: Sequence[Sequence[Any]], name: str, library: frozenset[str], way: str
) -> DraftedProblem:
    first = inputs[0]
    gpu = any(tensor.is_cuda for tensor in first if isinstance(tensor, torch.Tensor))
    graphs = [capture.capture(model, arguments, dynamic=False, way=way) for arguments in inputs]
    return DraftedProblem(
        name=name,
        compiler=f"TorchInductor {torch.__version__} ({way})",
        device="cuda" if gpu else "cpu",
        parameters=capture.parameters_of(model, len(first)),
        state=capture.state_of(model),
        returns_tuple=capture.returns_tuple(model, first),
        graphs=(*graphs, *_of_any_size(model, first)),
        library=library,
        vector_macros=() if gpu else capture.vector_macros(),
    )


def _of_any_size(model: torch.nn.Module, arguments: Sequence[Any]) -> tuple[CompiledGraph, ...]:
    """The code for any size; none where the compiler cannot have sizes as symbols."""
    try:
        graph = capture.capture(model, arguments, dynamic=True)
    except NoDraftError:
        return ()
    return (graph,) if graph.dynamic else ()
