"""What does a kernel make of arguments that are not dense?

The arguments of a call lie densely in memory, as a problem's `get_inputs` has them in nearly all cases, and kernels may
rely on that: it is part of what is proven, and exported operators check it. But a caller should know what becomes of a
transposed view. So one call is made on such views of the same values, and the report says whether it was right, was
refused by an exception, or was wrong without a word. None of that decides anything.
"""

from __future__ import annotations

from typing import Any

import torch

from workers.ipc.sparse import holds_sparse
from workers.ipc.tensors import flatten, mapped, structure
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import judge_on_values, opened
from workers.referee.inputs.distributions import OWN
from workers.referee.trial import Trial
from workers.runner.step import TURNED, laid_out

STRIDED_SLOT = 4000


def on_strided(trial: Trial) -> list[str]:
    """A sentence for the report; nothing where the reference takes no such arguments, writes to them or returns views
    of them, where there is a backward pass, and on a GPU. A process that breaks down over it is started again."""
    state = trial.state
    if state.place.is_gpu or state.problem.is_step or state.mutates or state.aliases:
        return []
    arguments = trial.draw(0, OWN)
    if holds_sparse(structure(arguments, [])) or not any(tensor.dim() for tensor in flatten(arguments)):
        return []
    try:
        state.expected(mapped(arguments, _turned))
    except Refused:
        return []
    try:
        wrong = _wrong(trial, arguments)
    except RunnerFault as fault:
        if fault.kind is FaultKind.FORGED:
            raise
        if fault.kind is not FaultKind.RAISED:
            trial.load_again()
        return [f"arguments that are not dense: refused with {str(fault)[:200]}"]
    if wrong is None:
        return ["passed on arguments that are not dense"]
    return [f"PROVEN FOR DENSE ARGUMENTS ONLY: transposed views are read wrongly, without a word ({wrong[:200]})"]


def _turned(tensor: torch.Tensor) -> torch.Tensor:
    return laid_out(tensor, TURNED)


def _wrong(trial: Trial, arguments: list[Any]) -> str | None:
    """What is wrong with a call on turned arguments; nothing of it is kept with the errors of the candidate."""
    wanted = trial.state.expected(arguments)
    gate, trial.errors.gate = trial.errors.gate, None
    try:
        with opened(trial, STRIDED_SLOT, arguments, wanted) as slot:
            slot.write(flatten(arguments))
            trial.session.call(slot, layout=TURNED)
            fetched = trial.session.fetch(slot)
            scales = trial.state.scales(0, OWN) or ()
            finding = judge_on_values(trial, fetched, arguments, wanted, OWN, scales, "turned")
    finally:
        trial.errors.gate = gate
    return None if finding is None else finding.detail
