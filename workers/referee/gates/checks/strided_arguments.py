"""What does a kernel make of arguments that are not dense?

The arguments of a call lie densely in memory, as a problem's `get_inputs` has them in nearly all cases, and kernels may
rely on that: it is part of what is proven, and exported operators check it. But a caller should know what becomes of a
transposed view. So one call is made on such views of the same values, and the report says whether it was right, was
refused by an exception, or was wrong without an exception. Where a problem announces views, or tensors that repeat
elements, one call is made on dense tensors of the same shapes, and one in which repeated parts differ. None of that
decides anything.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch

from workers.ipc.sparse import holds_sparse
from workers.ipc.tensors import flatten, mapped, overlap, shares_memory, structure
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import judge_on_values, opened, try_values
from workers.referee.inputs.distributions import OWN
from workers.referee.state import ReferenceState
from workers.referee.trial import Trial
from workers.runner.protocol import CallForm
from workers.runner.step import TURNED, laid_out

STRIDED_SLOT, DENSE_SLOT = 4000, 4001


def on_strided(trial: Trial) -> list[str]:
    """Sentences for the report; nothing where the reference takes no such arguments, writes to them or returns views
    of them, and on a GPU. A process that breaks down over it is started again."""
    state = trial.state
    if state.place.is_gpu or state.mutates or _returns_views(state):
        return []
    arguments = trial.draw(0, OWN)
    if holds_sparse(structure(arguments, [])) or not any(tensor.dim() for tensor in flatten(arguments)):
        return []
    announced = [] if _are_dense(flatten(arguments)) else _on_dense(trial, arguments)
    try:
        state.expected(mapped(arguments, _turned))
    except Refused:
        return announced
    try:
        wrong = _wrong(trial, arguments)
    except RunnerFault as fault:
        if fault.kind is FaultKind.FORGED:
            raise
        if fault.kind is not FaultKind.RAISED:
            trial.load_again()
        return [*announced, f"arguments that are not dense: refused with {str(fault)[:200]}"]
    if wrong is None:
        return [*announced, "passed on arguments that are not dense"]
    wrong = f"PROVEN FOR DENSE ARGUMENTS ONLY: transposed views are read wrongly, without an exception ({wrong[:200]})"
    return [*announced, wrong]


def _returns_views(state: ReferenceState) -> bool:
    """Whether what the reference's forward returns lies in its arguments' memory; a gradient may."""
    outputs = len(state.metas(0)) - len(state.problem.gradient_names)
    return any(index < outputs for index, _ in state.aliases)


def _on_dense(trial: Trial, arguments: list[Any]) -> list[str]:
    """The same of dense tensors where views are announced: of the same values, and of others in repeated parts."""
    state, notes = trial.state, list[str]()
    calls = [("dense tensors in place of views", list(mapped(arguments, _dense)))]
    if any(map(shares_memory, flatten(arguments))):
        calls.append(("other values in repeated parts", list(mapped(arguments, _mixed))))
    for index, (where, call) in enumerate(calls):
        if state.problem.limits.excludes(arguments, call):
            continue
        gate, trial.errors.gate = trial.errors.gate, None
        try:
            finding = try_values(trial, call, DENSE_SLOT + index, where, expected=state.expected(call))
        except Refused:
            continue
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise fault.at(where) from None
            notes.append(f"limited: {where} are refused with {str(fault)[:200]}")
            continue
        finally:
            trial.errors.gate = gate
        if finding is not None:
            only = "PROVEN FOR THE ANNOUNCED STRIDES ONLY"
            return [f"{only}: others are read wrongly, without an exception ({finding.detail[:200]})"]
        notes.append(f"passed on {where}")
    return notes


def _are_dense(tensors: Sequence[torch.Tensor]) -> bool:
    apart = not any(one is not other and overlap(one, other) for one, other in itertools.combinations(tensors, 2))
    return apart and all(one.is_contiguous() for one in tensors)


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.clone(memory_format=torch.contiguous_format)


def _mixed(tensor: torch.Tensor) -> torch.Tensor:
    """A dense tensor with the elements of one that repeats some, in another order."""
    if not shares_memory(tensor):
        return _dense(tensor)
    flat = tensor.reshape(-1)
    return flat[torch.randperm(flat.numel(), device=flat.device)].view(tensor.shape)


def _turned(tensor: torch.Tensor) -> torch.Tensor:
    return laid_out(tensor, TURNED)


def _wrong(trial: Trial, arguments: list[Any]) -> str | None:
    """What is wrong with a call on turned arguments; nothing of it is kept with the errors of the candidate."""
    wanted = trial.state.expected(arguments)
    gate, trial.errors.gate = trial.errors.gate, None
    try:
        with opened(trial, STRIDED_SLOT, arguments, wanted) as slot:
            slot.write(flatten(arguments))
            trial.session.call(slot, form=CallForm(layout=TURNED))
            fetched = trial.session.fetch(slot)
            scales = trial.state.scales(0, OWN) or ()
            finding = judge_on_values(trial, fetched, arguments, wanted, OWN, scales, "turned")
    finally:
        trial.errors.gate = gate
    return None if finding is None else finding.detail
