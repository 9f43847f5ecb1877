"""Parameters as they are once a model was trained, not ones and zeros, or after one more step of training."""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Iterator

import torch

from workers.referee.inputs.float8 import widened
from workers.referee.inputs.value_kinds import is_constant
from workers.referee.problem.reference_problem import ReferenceProblem

LEAST, MOST = 0.25, 3.0
"""Magnitudes of a trained model's scales and shifts."""
USUAL_GAIN = 3.0**-0.5
"""Root mean square of a matrix times the root of its columns, as PyTorch draws it: a smaller one grows to this."""
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
    with _changed(problem, seed, _move_on) as has_any:
        yield has_any


@contextlib.contextmanager
def ordinary_parameters(problem: ReferenceProblem, seed: int, *, signed: bool) -> Iterator[bool]:
    """The same with values as large as a trained model's, whatever they are before: of both signs where they are
    `signed`, else of those that they have."""
    with _changed(problem, seed, lambda one, generator: _grow(one, generator, signed=signed)) as has_any:
        yield has_any


@contextlib.contextmanager
def _changed(
    problem: ReferenceProblem, seed: int, change: Callable[[torch.Tensor, torch.Generator], None]
) -> Iterator[bool]:
    names = _trained_names(problem)
    if not names:
        yield False
        return
    model = copy.deepcopy(problem.model)
    generator = torch.Generator(device=problem.place.device).manual_seed(seed)
    with problem.standing_in(model):
        for name in names:
            change(model.get_parameter(name).detach(), generator)
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


def _grow(parameter: torch.Tensor, generator: torch.Generator, *, signed: bool) -> None:
    """Give a parameter the size that it has in a trained model: a scale or shift magnitudes about one, a matrix those
    that keep the size of what it is multiplied with, and here and there a large one. What is as large stays."""
    value, device = widened(parameter), parameter.device
    if not value.is_floating_point() or not value.numel():
        return
    shape = [size for size in value.shape if size > 1]
    rows = value.reshape(shape[0] if len(shape) > 1 else 1, -1)
    size = torch.rand(value.shape, device=device, generator=generator) * math.log(MOST / LEAST) + math.log(LEAST)
    drawn = size.exp().to(value.dtype)
    if signed:
        drawn = torch.where(torch.rand(value.shape, device=device, generator=generator) < 0.5, -drawn, drawn)
    elif bool(value.any()):
        drawn = drawn.copysign(value)
    rms, is_matrix, has_one = (
        float(value.square().mean().sqrt()),
        len(shape) > 1,
        value.numel() < 2 or is_constant(value),
    )
    if has_one and not (is_matrix and rms == 0.0):
        parameter.copy_(drawn)
        return
    wanted = USUAL_GAIN * rows.shape[1] ** -0.5 if is_matrix else 1.0
    grown = drawn * wanted if rms == 0.0 else value * max(1.0, wanted / rms)
    if is_matrix:
        place = torch.randint(0, rows.shape[1], (rows.shape[0], 1), device=device, generator=generator)
        large = drawn.reshape(rows.shape).gather(1, place)
        grown = grown.reshape(rows.shape).scatter(1, place, large).view(value.shape)
    parameter.copy_(grown)
