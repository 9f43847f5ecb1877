"""What a kernel makes of rows that are far from each other, or far from zero.

A variance that is summed in one pass has lost its digits where a mean is hundreds of standard deviations, and a
quotient that is rounded has where it is beyond what a float counts. Hardly a caller has such values, so these are
remarks with figures, provided that the reference itself keeps its digits. A row beside one that is larger by far is an
ordinary row: there a kernel has to be right, where the reference makes nothing of one row that another one has a share
in.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import torch

from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.comparison.call_outputs import Fetched
from workers.referee.comparison.error_scales import same_bytes
from workers.referee.comparison.output_structure import Answer, ContractError, places
from workers.referee.costs.operator_costs import REMAINDERS, SUMMING
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import fetched_if_taken, judge_on_values, try_values
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import DISTANT, DISTANT_ROWS, FAR_BEYOND, OWN, rebuilt
from workers.referee.inputs.float8 import is_eight_bit
from workers.referee.inputs.transforms import DISPLACED, outsized
from workers.referee.inputs.value_kinds import LEAST_SLICES, is_continuous
from workers.referee.inputs.value_structure import structured
from workers.referee.state import SMALL_BYTES
from workers.referee.trial import Trial

SLOT = 8000
FROM_ZERO = f"imprecise where a mean is {DISPLACED:.0f} standard deviations"
FROM_EACH_OTHER = f"PROVEN FOR ROWS OF ONE MEAN: imprecise where means are {DISPLACED:.0f} standard deviations apart"
QUOTIENTS = "PROVEN FOR QUOTIENTS BELOW 2^24: wrong beyond"
REMARKS = (
    (SUMMING, DISTANT, FROM_ZERO),
    (SUMMING, DISTANT_ROWS, FROM_EACH_OTHER),
    (REMAINDERS, FAR_BEYOND, QUOTIENTS),
)
"""Operators, the values that are tried where the reference has one of them, and what is said of a kernel that is wrong
there."""
BESIDE = "in the slices beside a huge one"


def remark_on_distant_means(trial: Trial) -> str | None:
    """What is to be said of a kernel that is imprecise there; None where it is right, refuses, or nothing is known."""
    state = trial.state
    for names, distribution, remark in REMARKS:
        if not state.names & names or (scales := state.scales(0, distribution)) is None:
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
    """What is wrong in the leading slices beside one that is larger by far, where those of the reference's outputs are
    the same to the bit whatever that one holds: they are judged by what is expected without it."""
    state = trial.state
    arguments = trial.draw(0, OWN)
    if state.problem.is_step or state.mutates or trial.bytes_of(arguments) > SMALL_BYTES:
        return None
    answer = state.expected(arguments)
    for changed, place in _with_a_huge_slice(arguments):
        if not state.problem.limits.excludes(arguments, changed) and _is_apart(trial, changed, answer, place):
            return _called(trial, arguments, changed, answer, place)
    return None


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


def _is_apart(trial: Trial, changed: list[Any], answer: Answer, place: int) -> bool:
    """Whether the reference takes changed arguments, and makes of them what the answer says but in one slice."""
    try:
        made = trial.state.expected(changed).tensors
    except Refused:
        return False
    if [TensorMeta.of(one) for one in made] != [TensorMeta.of(one) for one in answer.tensors]:
        return False
    pairs = list(zip(made, answer.tensors, strict=True))
    if any(other.dim() == 0 or other.shape[0] <= place for _, other in pairs):
        return False
    return all(
        same_bytes(one[:place], other[:place]) and same_bytes(one[place + 1 :], other[place + 1 :])
        for one, other in pairs
    )


def _called(trial: Trial, arguments: list[Any], changed: list[Any], answer: Answer, place: int) -> GateFinding | None:
    fetched = fetched_if_taken(trial, trial.slot(0, arguments), changed, "with a huge slice")
    if fetched is None:
        return None
    _set_slice(fetched, answer, place)
    scales = trial.state.scales(0, OWN) or ()
    return judge_on_values(trial, fetched, arguments, answer, OWN, scales, BESIDE)


def _set_slice(fetched: Fetched, answer: Answer, place: int) -> None:
    """Put the expected slice in the place of the one that is not judged."""
    try:
        order = list(places(fetched.structure, answer.shape))
        values = [fetched.outputs[number].value for number in order]
    except (ContractError, IndexError):
        return  # is judged as it is
    for value, wanted in zip(values, answer.tensors, strict=True):
        if value is not None and TensorMeta.of(value) == TensorMeta.of(wanted):
            value[place] = wanted[place]
