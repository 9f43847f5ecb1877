"""Is a call right after one that raised an exception?

What a call has begun, and not ended, may lie in memory that a kernel keeps: counts, a flag, a mode. A caller catches
the exception and calls on. So an ordinary call follows the first one that a kernel refuses. And at the end a whole
number that is out of range for the reference too is put among an argument's; where the kernel raises an exception, as
the reference does, an ordinary call follows. A kernel that does not look at its indices may do anything then: nothing
is held against it, and its process is of no further use.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import torch

from services.domain.gates import GateName, GateResult
from workers.ipc.tensors import flatten
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import try_draw
from workers.referee.gates.finding import GateFinding, failed
from workers.referee.inputs.distributions import OWN, rebuilt
from workers.referee.inputs.index_structure import INDEX_DTYPES
from workers.referee.state import ReferenceState
from workers.referee.trial import Trial

LIMIT_S = 2.0
"""For a call that need not return."""
AFTER = "after a call that raised an exception: "


def after_an_illegal_index(trial: Trial) -> list[GateResult]:
    """Evidence where a call is wrong once another one has refused an index. Ends the runner's use."""
    if trial.state.place.is_gpu or trial.runner is None or trial.state.problem.is_step:
        return []
    arguments = trial.draw(0, OWN)
    illegal = next(_illegal(trial.state, arguments), None)
    if illegal is None:
        return []
    slot, trial.is_called_on = trial.slot(0, arguments), False
    slot.write(flatten(illegal))
    try:
        trial.session.call(slot, limit_s=LIMIT_S)
    except RunnerFault as fault:
        finding = after_an_exception(trial) if fault.kind is FaultKind.RAISED else None
        if finding is not None:
            return [GateResult(name=GateName.CORRECTNESS, status=finding.status, detail=finding.detail, seconds=0.0)]
    return []


def after_an_exception(trial: Trial) -> GateFinding | None:
    """What is wrong with an ordinary call now; nothing where that was asked before."""
    if trial.is_called_on:
        return None
    trial.is_called_on = True
    try:
        finding = try_draw(trial, 0, OWN, trial.draw(0, OWN), observe=False)
    except RunnerFault as fault:
        return failed(f"{AFTER}{fault}", GateName.CORRECTNESS)
    return None if finding is None else failed(f"{AFTER}{finding.detail}", GateName.CORRECTNESS)


def _illegal(state: ReferenceState, arguments: list[Any]) -> Iterator[list[Any]]:
    """Arguments with a whole number that the reference refuses, in the second half of a tensor."""
    tensors = flatten(arguments)
    for place, tensor in enumerate(tensors):
        if tensor.dtype not in INDEX_DTYPES or tensor.numel() < 2:
            continue
        most = int(tensor.max())
        for number in (most + 1, 2 * most + 2):
            if not 0 <= number <= torch.iinfo(tensor.dtype).max:
                continue
            changed = tensor.contiguous().clone()
            changed.view(-1)[random.SystemRandom().randrange(tensor.numel() // 2, tensor.numel())] = number
            call = list(rebuilt(arguments, [*tensors[:place], changed, *tensors[place + 1 :]]))
            try:
                state.expected(call)
            except Refused:
                yield call
