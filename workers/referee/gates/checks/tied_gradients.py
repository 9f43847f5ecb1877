"""What does a step make of zeros, of equal values and of next to nothing?

At a kink PyTorch promises little: which of equal values gets a maximum's gradient, or what a magnitude's is at 0. So
draws for steps have no such values. What is the same for every choice has to be right there nevertheless: outputs, that
a gradient is finite, and sums of gradients along a dimension, as all that a window's largest values get is what came
back to it. Which sums are the same is seen by the reference in float64, on arguments that are moved by next to nothing,
one way and then the other: what is chosen at a kink is chosen otherwise then. Of several equal values one may be chosen
never, so a dimension is judged only where all sums along it stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from workers.ipc.tensors import TensorMeta, flatten, mapped
from workers.referee.comparison.call_outputs import Fetched
from workers.referee.comparison.output_structure import Answer, ContractError, places
from workers.referee.comparison.tolerance import ErrorScale, all_finite
from workers.referee.errors import Refused
from workers.referee.gates.checks.calls import fetched_if_taken, judge_outputs
from workers.referee.gates.finding import GateFinding, failed
from workers.referee.inputs.distributions import DEGENERATE, OWN, PADDED, Distribution, changes
from workers.referee.trial import Trial
from workers.referee.tried_values import SMALL_BYTES

BY = 1e-7
"""By how much values are moved, at most: what is computed of zeros is next to nothing then."""
PAIRS = 3
ALIKE, OFF = 1e-4, 2e-2
"""Of the magnitudes that are summed: by how much sums of the reference may differ that are called the same, and by how
much a kernel's may."""
LEAST = 1e-3
"""Of a gradient's largest magnitude: less is summed as if it were as much."""
MOST_TIMES = 1e3
"""How many times as large as the reference's largest a gradient may be nearby: beyond, there is a pole."""
Values = Sequence[torch.Tensor]


def at_ties(trial: Trial) -> GateFinding | None:
    """What is wrong with a step at zeros and equal values, and with its outputs for minute ones. A kernel may raise an
    exception there."""
    state = trial.state
    if not state.problem.is_step or state.mutates or not state.traits.takes_ties_forward:
        return None
    if trial.bytes_of(trial.draw(0, DEGENERATE)) > SMALL_BYTES:
        return None
    tied = next((one for kind in (DEGENERATE, PADDED) if (one := _drawn(trial, kind)) is not None), None)
    found = None if tied is None else _judged(trial, *tied, nearby=_nearby(trial, tied[1]))
    small = (one for kind in state.tried.minute_forward if (one := _drawn(trial, kind)) is not None)
    minute = None if found is not None else next(small, None)
    return found if minute is None else _judged(trial, *minute, nearby=[])


def _drawn(trial: Trial, kind: Distribution) -> tuple[str, list[Any], Sequence[ErrorScale]] | None:
    """What such values are called, arguments that hold them, and how exact the reference's outputs are there; None
    where these are not known to be exact."""
    arguments = trial.draw(0, OWN)
    forward = trial.state.problem.forward_arguments(arguments)
    if not changes(forward, kind):
        return None
    changed = trial.state.changed(arguments, kind)
    scales = trial.state.forward_scales(changed, kind)
    return None if scales is None else (f"{kind.name} values", changed, scales)


def _judged(
    trial: Trial, where: str, arguments: list[Any], scales: Sequence[ErrorScale], *, nearby: Sequence[Values]
) -> GateFinding | None:
    """What is wrong with outputs, and with what all gradients `nearby` have in common."""
    state = trial.state
    try:
        answer = state.expected(arguments)
    except Refused:
        return None
    fetched = fetched_if_taken(trial, trial.slot(0, arguments), arguments, f"of {where}")
    if fetched is None:
        return None
    first, wrong = state.first_gradient, ""
    for index, value in _of_answer(fetched, answer):
        wanted = answer.tensors[index]
        near = [one[index] for one in nearby]
        if index >= first and _is_regular(wanted, near):
            if not all_finite([value]):
                continue  # is judged as it is
            name = state.problem.gradient_names[index - first]
            wrong = wrong or _wrong_sum(name, value, wanted, near)
        if index >= first or state.traits.chooses:
            value.copy_(wanted)
    finding = judge_outputs(trial, fetched, answer, scales, where)
    return failed(f"{where}: {wrong}") if finding is None and wrong else finding


def _of_answer(fetched: Fetched, answer: Answer) -> list[tuple[int, torch.Tensor]]:
    """The returned tensors that are like the expected ones, by the numbers of these."""
    try:
        values = [fetched.outputs[number].value for number in places(fetched.structure, answer.shape)]
    except (ContractError, IndexError):
        return []  # is judged as it is
    pairs = enumerate(zip(values, answer.tensors, strict=True))
    return [(at, one) for at, (one, other) in pairs if one is not None and TensorMeta.of(one) == TensorMeta.of(other)]


def _nearby(trial: Trial, arguments: list[Any]) -> list[Values]:
    """What the reference makes, in float64, of arguments that are moved by next to nothing; nothing where a rounding
    changes its outputs, or it cannot be run so."""
    state, found = trial.state, list[Values]()
    count = len(state.problem.forward_arguments(arguments))
    for _ in range(PAIRS):
        for one in _moved(arguments[:count]):
            found.append(state.problem.run_double([*one, *arguments[count:]]))
    first = found[0]
    if any([one.shape for one in other] != [one.shape for one in first] for other in found) or not first:
        return []
    outputs = range(state.first_gradient)
    return found if all(_are_alike([other[at] for other in found]) for at in outputs) else []


def _moved(arguments: list[Any]) -> tuple[list[Any], list[Any]]:
    """Arguments in float64 of which no two values are equal, moved one way and the other way."""
    steps = [
        torch.randn(one.shape, dtype=torch.float64, device=one.device)
        * (BY * max(float(one.double().abs().max()) if one.numel() else 0.0, 1e-30))
        if one.is_floating_point()
        else None
        for one in flatten(arguments)
    ]
    ways = list[list[Any]]()
    for sign in (1.0, -1.0):
        following = iter(steps)

        def step(tensor: torch.Tensor, sign: float = sign, following: Any = following) -> torch.Tensor:
            by = next(following)
            return tensor if by is None else tensor.double() + sign * by

        ways.append(list(mapped(arguments, step)))
    return ways[0], ways[1]


def _are_alike(tensors: Values) -> bool:
    largest = max((float(one.double().abs().max()) if one.numel() else 0.0) for one in tensors)
    first = tensors[0].double()
    return all(bool(((one.double() - first).abs() <= OFF * largest).all()) for one in tensors)


def _is_regular(wanted: torch.Tensor, near: Values) -> bool:
    """Whether a gradient is a number, at a place and all around it, and no pole is near."""
    if not near or wanted.numel() == 0 or not all_finite([wanted, *near]):
        return False
    return max(float(one.abs().max()) for one in near) <= MOST_TIMES * float(wanted.double().abs().max())


def _wrong_sum(name: str, value: torch.Tensor, wanted: torch.Tensor, near: Values) -> str:
    """What is said of sums of a gradient along a dimension that are the same whatever is chosen, and others here."""
    least = LEAST * max(float(one.abs().max()) for one in near)
    for dim in range(value.dim()):
        usual = near[0].sum(dim)
        size = torch.stack([one.abs().sum(dim) for one in near]).amax(0).clamp_min(least)
        is_known = (wanted.double().sum(dim) - usual).abs() <= OFF / 2 * size
        for one in near[1:]:
            is_known &= (one.sum(dim) - usual).abs() <= ALIKE * size
        found = value.double().sum(dim)
        is_off = (found - usual).abs() > OFF * size
        if bool(is_known.all()) and bool(is_off.any()):
            place = int(is_off.reshape(-1).nonzero()[0])
            got, right = float(found.reshape(-1)[place]), float(usual.reshape(-1)[place])
            return (
                f"the gradient of {name} adds up to {got:.6g} along dimension {dim}, expected {right:.6g}, which it is "
                "whichever of equal values is chosen"
            )
    return ""
