"""Parameters as they are once a model was trained, not ones and zeros, or after one more step of training."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator

import torch

from workers.referee.inputs.float8 import widened
from workers.referee.inputs.value_kinds import is_constant
from workers.referee.problem.reference_problem import ReferenceProblem

FROM_ZERO = 0.1
"""Of a parameter of zeros, by which all other moves are multiplied."""


@contextlib.contextmanager
def other_parameters(problem: ReferenceProblem) -> Iterator[bool]:
    """Inside, parameters and statistics that hold one value only, as before any training (ones, zeros), hold
    others; whether there are any. The model is as it was afterwards."""
    model = copy.deepcopy(problem.model)
    with problem.standing_in(model):
        yield _trained(model)


@contextlib.contextmanager
def moved_parameters(problem: ReferenceProblem, seed: int) -> Iterator[bool]:
    """Inside, all parameters whose gradients are judged, or where none are that can have gradients, hold other values,
    as after a step of training: those that belong to `seed`. Whether there are any. The model is as it was
    afterwards."""
    names = _trained_names(problem)
    if not names:
        yield False
        return
    model = copy.deepcopy(problem.model)
    generator = torch.Generator(device=problem.place.device).manual_seed(seed)
    with problem.standing_in(model):
        for name in names:
            _move_on(model.get_parameter(name).detach(), generator)
        yield True


def _trained_names(problem: ReferenceProblem) -> tuple[str, ...]:
    """Parameters that training changes."""
    if problem.step is not None:
        return problem.step.plan.parameters
    return tuple(name for name, one in problem.model.named_parameters() if one.requires_grad)


@contextlib.contextmanager
def without(problem: ReferenceProblem, name: str) -> Iterator[bool]:
    """Inside, a parameter or buffer of this name is zero; whether there is one. The model is as it was afterwards."""
    tensor = dict(problem.state()).get(name)
    if tensor is None:
        yield False
        return
    usual = tensor.clone()
    tensor.zero_()
    try:
        yield True
    finally:
        tensor.copy_(usual)


def _trained(model: torch.nn.Module) -> bool:
    """Give what holds one value others of the same sign, or small ones in the place of zeros; whether there is any."""
    norms = [part for part in model.modules() if isinstance(part, torch.nn.modules.batchnorm._NormBase)]
    statistics = [one for part in norms for one in (part.running_mean, part.running_var) if one is not None]
    given = [tensor.detach() for tensor in (*model.parameters(), *statistics)]
    found = [one for one in given if is_constant(one) or (one.numel() == 1 and one.is_floating_point())]
    for tensor in found:
        noise = torch.rand(tensor.shape, device=tensor.device).to(widened(tensor).dtype)
        is_zero = bool((tensor == 0).all())
        tensor.copy_(noise - 0.5 if is_zero else widened(tensor) * (noise + 0.6))
    return bool(found)


def _move_on(parameter: torch.Tensor, generator: torch.Generator) -> None:
    """Move a parameter by up to a fifth, and by as much of what is usual in it; of zeros, by up to a fiftieth."""
    value = widened(parameter)
    noise = torch.rand(value.shape, device=value.device, generator=generator).to(value.dtype) * 0.4 - 0.2
    size = value.abs()
    usual = size.mean() if value.numel() else 0.0
    parameter.copy_(value + noise * (size + usual) if bool(size.any()) else noise * FROM_ZERO)
