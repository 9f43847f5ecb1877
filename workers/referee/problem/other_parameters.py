"""Parameters as they are once a model was trained, not ones and zeros, or after one more step of training."""

from __future__ import annotations

import contextlib
import copy
import math
import random
from collections.abc import Callable, Iterator

import torch

from workers.referee.boundary.problem_messages import StatePart
from workers.referee.comparison.error_scales import same_bytes
from workers.referee.inputs.float8 import widened
from workers.referee.inputs.value_kinds import is_constant
from workers.referee.problem.reference_problem import ReferenceProblem
from workers.runner.model import state_of

LEAST, MOST = 0.25, 3.0
"""Magnitudes of a trained model's scales and shifts."""
USUAL_GAIN = 3.0**-0.5
"""Root mean square of a matrix times the root of its columns, as PyTorch draws it: a smaller one grows to this."""
MOST_COUNTED = 3
"""Calls that a trained model has counted. Where a model counts places of a table that calls fill, few are left."""
FROM_ZERO = 0.1
"""Of a parameter of zeros, by which all other moves are multiplied."""


@contextlib.contextmanager
def other_parameters(problem: ReferenceProblem) -> Iterator[bool]:
    """Inside, parameters and statistics that hold one value only, as before any training (ones, zeros), hold
    others, and counts that calls change are larger; whether there are any of the former. The model is as it was
    afterwards."""
    model = copy.deepcopy(problem.model)
    for name, tensor in model.named_buffers():
        if name in problem.changing and tensor.dim() == 0 and not tensor.is_floating_point():
            tensor += random.SystemRandom().randint(1, MOST_COUNTED)
    with problem.standing_in(model):
        yield _trained(model)


@contextlib.contextmanager
def another_model(problem: ReferenceProblem, seed: int, part: StatePart) -> Iterator[bool]:
    """Inside, the reference is one built under `seed`, whose parameters have moved besides, as after a step of
    training, and so have the statistics of norms; or only a `part` holds these values. Whether any are other ones
    than before. The model is as it was afterwards. What is the same under every seed (tables, masks) stays."""
    usual, drawn = copy.deepcopy(problem.model), problem.built_under(seed)
    generator = torch.Generator(device=problem.place.device).manual_seed(seed)
    trained = _trained_names(problem)
    for name in trained:
        _move_on(drawn.get_parameter(name).detach(), generator)
    _move_statistics(drawn, generator)
    own, others = dict(state_of(usual)), dict(state_of(drawn))
    if any(name not in others or others[name].shape != tensor.shape for name, tensor in own.items()):
        yield False
        return
    names = [name for name, tensor in own.items() if not same_bytes(tensor.detach(), others[name].detach())]
    if part is StatePart.FROZEN:
        names = [name for name in names if name not in trained]
    elif part is StatePart.ONE:
        known = [name for name in names if problem.step is None or name in trained]
        names = [random.SystemRandom().choice(known)] if len(known) > 1 else []
    with torch.no_grad():
        for name in names:
            own[name].copy_(others[name])
    with problem.standing_in(usual):
        yield bool(names)


@contextlib.contextmanager
def moved_statistics(problem: ReferenceProblem, seed: int, *, in_other_mode: bool) -> Iterator[bool]:
    """Inside, statistics of norms have moved, as `seed` has it, and the model may be in evaluation mode where it is
    built in training mode, and the other way round. Whether it is in training mode then. The model is as it was
    afterwards."""
    model = copy.deepcopy(problem.model)
    _move_statistics(model, torch.Generator(device=problem.place.device).manual_seed(seed))
    if in_other_mode:
        model.train(not model.training)
    with problem.standing_in(model):
        yield model.training


@contextlib.contextmanager
def moved_parameters(problem: ReferenceProblem, seed: int) -> Iterator[bool]:
    """Inside, all parameters whose gradients are judged, or where none are that can have gradients, hold other values,
    as after a step of training: those that belong to `seed`. Whether there are any. The model is as it was
    afterwards."""
    with changed_parameters(problem, seed, _move_on) as has_any:
        yield has_any


@contextlib.contextmanager
def ordinary_parameters(problem: ReferenceProblem, seed: int, *, signed: bool) -> Iterator[bool]:
    """The same with values as large as a trained model's, whatever they are before: of both signs where they are
    `signed`, else of those that they have."""
    with changed_parameters(problem, seed, lambda one, generator: _grow(one, generator, signed=signed)) as has_any:
        yield has_any


@contextlib.contextmanager
def changed_parameters(
    problem: ReferenceProblem, seed: int, change: Callable[[torch.Tensor, torch.Generator], None]
) -> Iterator[bool]:
    """Inside, a change was made to each parameter that training changes; whether there are any."""
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
    statistics = [one for pair in _statistics(model) for one in pair]
    given = [tensor.detach() for tensor in (*model.parameters(), *statistics)]
    found = [one for one in given if is_constant(one) or (one.numel() == 1 and one.is_floating_point())]
    for tensor in found:
        noise = torch.rand(tensor.shape, device=tensor.device).to(widened(tensor).dtype)
        is_zero = bool((tensor == 0).all())
        tensor.copy_(noise - 0.5 if is_zero else widened(tensor) * (noise + 0.6))
    return bool(found)


def _statistics(model: torch.nn.Module) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Running means and variances of norms."""
    norms = [part for part in model.modules() if isinstance(part, torch.nn.modules.batchnorm._NormBase)]
    return [
        (part.running_mean, part.running_var)
        for part in norms
        if part.running_mean is not None and part.running_var is not None
    ]


def _move_statistics(model: torch.nn.Module, generator: torch.Generator) -> None:
    """Move running means by up to half a standard deviation, and variances by up to two fifths."""
    for mean, variance in _statistics(model):
        noise = torch.rand((2, *mean.shape), device=mean.device, generator=generator).to(mean.dtype)
        mean += (noise[0] - 0.5) * variance.sqrt()
        variance *= noise[1] * 0.8 + 0.6


def _move_on(parameter: torch.Tensor, generator: torch.Generator) -> None:
    """Move a parameter by up to a fifth, and by as much of what is usual in it; of zeros, by up to a fiftieth."""
    value = widened(parameter)
    noise = torch.rand(value.shape, device=value.device, generator=generator).to(value.dtype) * 0.4 - 0.2
    size = value.abs()
    usual = size.mean() if value.numel() else 0.0
    parameter.copy_(value + noise * (size + usual) if bool(size.any()) else noise * FROM_ZERO)


def _grow(parameter: torch.Tensor, generator: torch.Generator, *, signed: bool) -> None:
    """Give a parameter the size that it has in a trained model: a scale or shift magnitudes about one, a matrix those
    that keep the size of what it is multiplied with, and here and there a large one. What is as large moves by up to a
    fifth, so that every value but zeros changes."""
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
    moved = torch.rand(value.shape, device=device, generator=generator).to(value.dtype) * 0.4 + 0.8
    grown = drawn * wanted if rms == 0.0 else value * moved * max(1.0, wanted / rms)
    if is_matrix:
        place = torch.randint(0, rows.shape[1], (rows.shape[0], 1), device=device, generator=generator)
        large = drawn.reshape(rows.shape).gather(1, place)
        grown = grown.reshape(rows.shape).scatter(1, place, large).view(value.shape)
    parameter.copy_(grown)
