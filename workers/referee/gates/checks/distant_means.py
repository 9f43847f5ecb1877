"""What a kernel makes of rows that are far from each other, or far from zero.

A variance that is summed in one pass has lost its digits where a mean is hundreds of standard deviations, and a
quotient that is rounded has where it is beyond what a float counts. Few callers have such values, so these are remarks
with figures, provided that the reference itself keeps its digits. A row next to one that is larger by far is an
ordinary row: there a kernel has to be right, where no row of the reference's depends on another one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.comparison.call_outputs import Fetched
from workers.referee.comparison.error_scales import same_bytes
from workers.referee.comparison.output_structure import Answer, ContractError, places
from workers.referee.costs.operator_costs import REMAINDERS, SUMMING, is_product
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import fetched_if_taken, judge_on_values, try_values
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.constraints import is_same
from workers.referee.inputs.distributions import (
    DISTANT,
    DISTANT_ROWS,
    FAR_BEYOND,
    OWN,
    WIDE,
    Distribution,
    drawn,
    rebuilt,
)
from workers.referee.inputs.float8 import is_eight_bit
from workers.referee.inputs.transforms import DISPLACED, outsized, with_outsized
from workers.referee.inputs.value_kinds import LEAST_SLICES, is_continuous
from workers.referee.inputs.value_structure import structured
from workers.referee.trial import Trial
from workers.referee.tried_values import SMALL_BYTES

SLOT = 8000
FROM_ZERO = f"imprecise where a mean is {DISPLACED:.0f} standard deviations"
FROM_EACH_OTHER = f"PROVEN FOR ROWS OF ONE MEAN: imprecise where means are {DISPLACED:.0f} standard deviations apart"
QUOTIENTS = "PROVEN FOR QUOTIENTS BELOW 2^24: wrong beyond"
REMARKS = (
    (SUMMING, DISTANT, FROM_ZERO),
    (SUMMING, DISTANT_ROWS, FROM_EACH_OTHER),
    (REMAINDERS, FAR_BEYOND, QUOTIENTS),
)
"""Operators, the values that are tried where the reference has one of them, and the remark on a kernel that is wrong
there."""
NEXT_TO_A_SLICE = "in the slices next to a huge one"
NEXT_TO_ELEMENTS = "next to single elements a million times as large"
HUGE_ELEMENTS = Distribution(name="single huge elements in", transform=with_outsized)
MAX_AFFECTED = 3 / 4
"""Largest share of an output's elements that may depend on these: beyond it, the rest may agree by chance."""


def remark_on_distant_means(trial: Trial) -> str | None:
    """What is to be said of a kernel that is imprecise there; None where it is right, refuses, or nothing is known."""
    state = trial.state
    for names, distribution, remark in REMARKS:
        if not state.traits.names & names or (scales := state.scales(0, distribution)) is None:
            continue
        arguments = trial.draw(0, distribution)
        try:
            finding = try_values(trial, arguments, SLOT, "there", distribution, scales=scales)
        except RunnerFault as fault:
            if fault.kind is FaultKind.RAISED:
                continue
            raise
        if finding is not None:
            return f"{remark}, and the reference is not: {finding.detail.removeprefix('there: ')}"
    return None


def beside_a_huge_slice(trial: Trial) -> GateFinding | None:
    """What is wrong in the leading slices next to one that is larger by far, where those of the reference's outputs
    are the same to the bit whatever that one holds: they are judged by what is expected without it."""
    arguments = trial.draw(0, OWN)
    if not _is_fit(trial, arguments):
        return None
    answer = trial.state.expected(arguments)
    for changed, place in _with_a_huge_slice(arguments):
        if trial.state.problem.limits.excludes(arguments, changed):
            continue
        affected = _only_in_slice(trial, changed, answer, place)
        if affected is not None:
            return _judge_the_rest(trial, arguments, changed, answer, affected, "a huge slice", NEXT_TO_A_SLICE)
    return None


def beside_a_huge_element(trial: Trial) -> GateFinding | None:
    """What is wrong next to single elements a million times as large as others, where the reference's outputs are the
    same to the bit whatever these are: they are judged by what is expected without them. Products may be made of parts
    that share a rounding (Winograd's, Fourier's), so they are not checked."""
    state, arguments = trial.state, trial.draw(0, OWN)
    if not _is_fit(trial, arguments) or not state.traits.names:
        return None
    if any(is_product(item.target) for item in state.analysis.operators) or state.scales(0, WIDE) is None:
        return None
    changed = drawn(arguments, HUGE_ELEMENTS)
    if is_same(changed, arguments) or state.problem.limits.excludes(arguments, changed):
        return None
    answer = state.expected(arguments)
    made = _made_alike(trial, changed, answer)
    affected = [] if made is None else [_differ(one, other) for one, other in zip(made, answer.tensors, strict=True)]
    if not affected or any(float(one.double().mean()) > MAX_AFFECTED for one in affected if one.numel()):
        return None
    return _judge_the_rest(trial, arguments, changed, answer, affected, "a few huge elements", NEXT_TO_ELEMENTS)


def _is_fit(trial: Trial, arguments: list[Any]) -> bool:
    """Whether huge values are tried: for a small forward pass that writes to no argument."""
    state = trial.state
    return not (state.problem.is_step or state.mutates or trial.bytes_of(arguments) > SMALL_BYTES)


def _with_a_huge_slice(arguments: list[Any]) -> Iterator[tuple[list[Any], int]]:
    """Arguments with a huge slice, chosen at random, in one of their tensors, and the slice's number."""
    tensors = flatten(arguments)
    for index in random.SystemRandom().sample(range(len(tensors)), len(tensors)):
        tensor = tensors[index]
        if tensor.dim() < 2 or tensor.shape[0] < LEAST_SLICES or tensor.is_complex() or is_eight_bit(tensor):
            continue
        if any(tensor is other for other in (*tensors[:index], *tensors[index + 1 :])) or not is_continuous(tensor):
            continue
        place = random.SystemRandom().randrange(tensor.shape[0])
        changed = outsized(tensor, place)
        if torch.equal(structured(tensor, changed), changed):
            yield list(rebuilt(arguments, [*tensors[:index], changed, *tensors[index + 1 :]])), place


def _only_in_slice(trial: Trial, changed: list[Any], answer: Answer, place: int) -> list[torch.Tensor] | None:
    """One slice of each output, as a mask; None unless the reference takes changed arguments, and differs from the
    answer in that slice only."""
    made = _made_alike(trial, changed, answer)
    if made is None or any(one.dim() == 0 or one.shape[0] <= place for one in made):
        return None
    for one, other in zip(made, answer.tensors, strict=True):
        if not (same_bytes(one[:place], other[:place]) and same_bytes(one[place + 1 :], other[place + 1 :])):
            return None
    masks = [torch.zeros_like(one, dtype=torch.bool) for one in made]
    for mask in masks:
        mask[place] = True
    return masks


def _made_alike(trial: Trial, changed: list[Any], answer: Answer) -> list[torch.Tensor] | None:
    """What the reference makes of changed arguments, where it takes them and its outputs look as they did."""
    try:
        made = trial.state.expected(changed).tensors
    except Refused:
        return None
    same = [TensorMeta.of(one) for one in made] == [TensorMeta.of(one) for one in answer.tensors]
    return made if same else None


def _differ(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """The elements that are not the same; all of them where they are no floats, which a rounding may change."""
    return one != other if one.is_floating_point() else torch.ones_like(one, dtype=torch.bool)


def _judge_the_rest(
    trial: Trial,
    arguments: list[Any],
    changed: list[Any],
    answer: Answer,
    affected: Sequence[torch.Tensor],
    what: str,
    where: str,
) -> GateFinding | None:
    """What is wrong in a call with changed arguments, by the answer to the announced ones, but for the affected
    elements. A kernel may refuse the call."""
    fetched = fetched_if_taken(trial, trial.slot(0, arguments), changed, f"with {what}")
    if fetched is None:
        return None
    _put(fetched, answer, affected)
    return judge_on_values(trial, fetched, arguments, answer, OWN, trial.state.scales(0, OWN) or (), where)


def _put(fetched: Fetched, answer: Answer, affected: Sequence[torch.Tensor]) -> None:
    """Put what is expected in the place of what is not judged."""
    try:
        order = list(places(fetched.structure, answer.shape))
        values = [fetched.outputs[number].value for number in order]
    except (ContractError, IndexError):
        return  # is judged as it is
    for value, wanted, mask in zip(values, answer.tensors, affected, strict=True):
        if value is not None and TensorMeta.of(value) == TensorMeta.of(wanted):
            value[mask] = wanted[mask]
