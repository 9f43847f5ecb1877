"""What a call leaves in the model: parameters and buffers that the reference's forward changes.

Batch normalisation in training counts its batches and follows their statistics. With a kernel in the place of such a
module, the next epoch's results depend on what the kernel left there.
"""

from __future__ import annotations

import copy
from typing import Any

import torch

from workers.referee.comparison.error_scales import same_bytes
from workers.referee.problem.float64 import in_float64
from workers.referee.problem.reference_problem import ReferenceProblem, cloned, doubled

Named = dict[str, torch.Tensor]


def changed_names(problem: ReferenceProblem) -> tuple[str, ...]:
    """The buffers that a call changes, and the parameters: those are large, and their versions show it. The model is as
    the call left it. Raises `Refused`, also where a buffer is of another size then."""
    buffers = {name: tensor.clone() for name, tensor in problem.model.named_buffers()}
    versions = {name: tensor._version for name, tensor in problem.model.named_parameters()}
    if not buffers and not versions:
        return ()
    problem.run(problem.make_inputs(0, 1))
    after = dict(problem.state())
    for name, tensor in buffers.items():
        if name not in after or after[name].shape != tensor.shape:
            remedy = "Keep buffers of one size, or compute them anew in each call."
            raise problem.refusal(f"a call changes the size of the model's buffer {name}", remedy, "Model.forward")
    changed = [name for name, version in versions.items() if problem.model.get_parameter(name)._version != version]
    return (*changed, *(name for name, tensor in buffers.items() if not same_bytes(tensor, after[name])))


def state_after(problem: ReferenceProblem, arguments: list[Any], *, exact: bool = False) -> Named:
    """The state of a copy of the model after a call, in float64 where it is to be `exact`. Raises `Refused`."""
    return (
        in_float64(lambda: _left(problem, arguments, exact=True)) if exact else _left(problem, arguments, exact=False)
    )


def _left(problem: ReferenceProblem, arguments: list[Any], *, exact: bool) -> Named:
    model = copy.deepcopy(problem.model)
    with problem.standing_in(model.double() if exact else model):
        problem.run(doubled(arguments) if exact else cloned(arguments))
        return {name: tensor.clone() for name, tensor in problem.state()}
