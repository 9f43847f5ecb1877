"""The tiny checkouts, and what a problem made of one draws and computes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from services.domain.problems import Problem
from services.problems.lint import lint_problem, public_source
from workers.referee.problem.reference_problem import ReferenceProblem

CHECKOUTS = Path(__file__).parents[3] / "suites"


@dataclass(frozen=True, kw_only=True)
class Run:
    """A problem, executed: the tiny checkouts are ours."""

    inputs: tuple[list[Any], ...]
    init: Any
    outputs: tuple[Any, ...]


def runs(problem: Problem) -> Run:
    """What each input set draws and the model returns. Fails where reading finds a fault."""
    lint_problem(problem)
    compile(public_source(problem), problem.path, "exec")
    reference = ReferenceProblem(problem)
    inputs = tuple(reference.make_inputs(number, 1) for number in range(len(reference.input_sets) + 1))
    again = reference.make_inputs(0, 2)
    tensors = [(one, other) for one, other in zip(inputs[0], again, strict=True) if isinstance(one, torch.Tensor)]
    assert not tensors or any(not torch.equal(one, other) for one, other in tensors), "every draw is the same"
    return Run(inputs=inputs, init=reference.init_inputs, outputs=tuple(map(reference.run, inputs)))
