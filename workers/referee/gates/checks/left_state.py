"""Does a candidate leave in its model what the reference leaves there?

Where a call of the reference changes parameters or buffers, the candidate's are given the reference's values, a call is
made, and what both left is compared. Values are those of a model that was trained for a while: a kernel that forgets
the old ones is detected by them. Small inputs come too, where a share of 1/(n - 1) is not that of 1/n.
"""

from __future__ import annotations

import contextlib
import functools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.boundary.isolated_problem import IsolatedProblem
from workers.referee.comparison.error_scales import same_bytes, scales_of
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, examine
from workers.referee.comparison.usual_magnitudes import usual_magnitudes
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import opened
from workers.referee.gates.checks.manners import call_as_a_caller
from workers.referee.gates.finding import GateFinding, failed, suspicious
from workers.referee.inputs.distributions import OWN, rebuilt
from workers.referee.inputs.resize import cut_along
from workers.referee.trial import Trial

Named = dict[str, torch.Tensor]
STATE_SLOT = 3000
SHOWN = 4
"""Of names that are listed."""


@dataclass(frozen=True, kw_only=True)
class LeftState:
    """A model's parameters and buffers, before and after a call of the reference."""

    before: Named
    after: Named
    scales: dict[str, ErrorScale]
    """How exact those are that the call changed."""


def leaves_state(trial: Trial) -> GateFinding | None:
    """What is wrong with the state that calls leave in the candidate's model; a hint where the reference changes some
    and the candidate has none to look at. Raises `RunnerFault`."""
    problem = trial.state.problem
    if not problem.changing:
        return _left_alone(trial)
    finding: GateFinding | None = None
    for index, arguments in enumerate(_calls(trial)):
        with problem.other_parameters():
            try:
                wanted = left_by(problem, arguments)
                answer = trial.state.expected(arguments)
            except Refused:
                continue
            if not trial.session.change_state(list(wanted.before.items())):
                finding = suspicious(_unknown(problem.changing))
                break
            try:
                finding = _tried(trial, arguments, answer, wanted)
            except RunnerFault as fault:
                if index == 0 or fault.kind is not FaultKind.RAISED:
                    raise
        if finding is not None:
            break
    trial.session.change_state(problem.state())
    return finding


def _left_alone(trial: Trial) -> GateFinding | None:
    """What the candidate's calls so far have changed in a model that the reference leaves alone. One by one: a model
    may be large."""
    for name, tensor in trial.state.problem.state():
        left = trial.session.read_state([name], [TensorMeta.of(tensor)])
        if name in left and not same_bytes(left[name], tensor):
            return failed(f"its `{name}` was changed by a call, the reference's is left alone")
    return None


def _calls(trial: Trial) -> Iterator[list[Any]]:
    """Arguments as announced, and fewer of them where the reference takes that."""
    problem = trial.state.problem
    yield trial.draw(0, OWN)
    arguments = problem.forward_arguments(trial.draw(0, OWN))
    steps = problem.limits.steps(arguments)
    cut = cut_along(flatten(arguments), last=False, generator=random.SystemRandom(), steps=steps)
    other = None if cut is None else problem.limits.fitted(arguments, list(rebuilt(arguments, cut)))
    if other is not None:
        with contextlib.suppress(Refused):
            yield problem.with_cotangents(other)


def _tried(trial: Trial, arguments: list[Any], answer: Answer, wanted: LeftState) -> GateFinding | None:
    with opened(trial, STATE_SLOT, arguments, answer) as slot:
        call = functools.partial(trial.session.call, slot)
        call_as_a_caller(trial, slot, flatten(arguments), call, own_memory=False)
        metas = [TensorMeta.of(tensor) for tensor in wanted.before.values()]
        left = trial.session.read_state(list(wanted.before), metas)
    missing = [name for name in wanted.scales if name not in left]
    if missing:
        return suspicious(_unknown(missing))
    for name, tensor in left.items():
        if name not in wanted.scales:
            if not same_bytes(tensor, wanted.before[name]):
                return failed(f"its `{name}` was changed by a call, the reference's is left alone")
            continue
        scale = trial.state.accuracy.with_depth(wanted.scales[name], wanted.after[name], ties=False)
        compared = examine(tensor, wanted.after[name], scale, trial.state.problem.tolerances)
        if compared.account is not None:
            trial.errors.note("what a call leaves in the model", [(name, compared.account)])
        if compared.mismatch is not None:
            how = " (it was left as it was)" if same_bytes(tensor, wanted.before[name]) else ""
            return failed(f"`{name}`, which a call of the reference changes, {compared.mismatch.detail}{how}")
    return None


def _unknown(names: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (
        f"a call of the reference changes its {', '.join(names[:SHOWN])}{more}, and the candidate has none: register "
        "them by name and shape, and change them alike. (A problem whose statistics are not needed says so with eval() "
        "or track_running_stats=False)"
    )


def left_by(problem: IsolatedProblem, arguments: list[Any]) -> LeftState:
    """What a call leaves in the problem's model, which stays as it is. Raises `Refused`."""
    before = dict(problem.state())
    after = problem.state_after(arguments)
    names = [name for name, tensor in before.items() if not same_bytes(tensor, after[name])]
    own = [after[name] for name in names]
    usual = usual_magnitudes(arguments, own, lambda given: _of(problem.state_after(given), names))
    try:
        exact = _of(problem.state_after(arguments, exact=True), names)
    except Refused:  # it was not written for float64
        exact = []
    return LeftState(before=before, after=after, scales=dict(zip(names, scales_of(own, exact, usual), strict=True)))


def _of(state: Named, names: Sequence[str]) -> list[torch.Tensor]:
    return [state[name] for name in names]
