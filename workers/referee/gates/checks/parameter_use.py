"""Does a candidate read its parameters, and what it is built with?

Before any training a norm's weight is one and its bias zero: a kernel that leaves them out is right by chance. A second
process is given a state in which whatever holds one value only holds others, and is called once. What is not trained
(masks, tables, positions: any buffer but a batch norm's statistics) stays as it is.

Parameters also change in place between two judged calls of one process: version counters advance, addresses stay.

Entries of `INIT_SETS` have processes too: there parameters change in place, once as the former and once as the latter.
"""

from __future__ import annotations

import copy
import dataclasses
import random
import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import torch

from services.domain.gates import GateStatus
from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.boundary.isolated_problem import SEED_BITS
from workers.referee.boundary.problem_messages import StatePart
from workers.referee.comparison.error_scales import same_bytes
from workers.referee.comparison.tolerance import ErrorScale, all_finite
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import try_draw, try_values
from workers.referee.gates.checks.instances import with_settings_beside
from workers.referee.gates.checks.mixed_calls import on_mixed
from workers.referee.gates.checks.size_groups import announced, size_groups
from workers.referee.gates.finding import GateFinding, failed, suspicious
from workers.referee.inputs.distributions import DEGENERATE, OWN, PADDED, TIED, Distribution
from workers.referee.trial import UNCHANGING, Trial
from workers.referee.tried_values import SMALL_BYTES

WHERE = "with other parameters than those before any training (they are copied once the model is built)"
TRAINED = "once its parameters have changed in place, as a step of training changes them"
THEY = "they"
STATISTICS = "its parameters and statistics of one value"
PARTS = {
    StatePart.FROZEN: "its buffers and frozen parameters",
    StatePart.ONE: "one of its parameters and buffers alone",
}
MOST_BYTES = 64 << 20
"""Of parameters and buffers, up to which parts of them change: that takes two more models of the reference's."""
READ_BACK = 8
"""Parameters and buffers that are read after they have changed."""
UNKNOWN = (
    "its parameters do not match the reference's, some of which hold a single value (ones, zeros): whether it reads "
    "them is not known, since no others can be put in their place. Register the reference's, by name and shape"
)

SETTINGS_SLOT = 2000
MIXED_OF_SETTING = 3
"""Calls of a model that is built with an entry of `INIT_SETS` of which several things change."""


def with_other_parameters(trial: Trial) -> GateFinding | None:
    """What is wrong with the output for parameters that are no longer ones and zeros; None where there are none such,
    or where the reference cannot take others. A hint where the candidate's parameters do not match the reference's."""
    state = trial.state
    with state.problem.other_parameters() as has_any:
        if not has_any:
            return None
        arguments = trial.draw(0, OWN)
        if not _is_taken(trial, arguments):
            return None
        try:
            with trial.another() as other:
                finding = _tried(other, arguments)
        except RunnerFault as fault:
            raise fault.at(WHERE) from None
    if finding is None or finding.status is GateStatus.SUSPICIOUS:
        return finding
    return finding.at(WHERE)


def after_training(trial: Trial) -> GateFinding | None:
    """What is wrong with the output once the parameters have changed in place in the process that was called before:
    what was computed from them is stale then.

    They get the size of a trained model's and both signs, where the reference is exact there; else their own signs, or
    they move a little. A kernel may raise an exception for all but the last.

    Where no gradients are judged, weights may stay as they are for good: a kernel that is right with these from the
    start, and does not see that they change, is remarked on."""
    problem, seed = trial.state.problem, secrets.randbits(SEED_BITS)
    for changed in (problem.ordinary_parameters(seed, signed=True), problem.ordinary_parameters(seed, signed=False)):
        try:
            was_tried, finding = _with_changed(trial, changed, trial.state.accuracy.is_steady_on)
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise
            continue
        if was_tried:
            return finding
    moved = problem.moved_parameters(seed)
    return _with_changed(trial, moved, lambda given: _is_taken(trial, given))[1]


def after_a_part_changed(trial: Trial) -> GateFinding | None:
    """What is wrong with the output once a part of the model's state has changed in place: what is not trained, or one
    tensor alone. A kernel may raise an exception, and one that computes something of buffers once is remarked on."""
    problem = trial.state.problem
    if trial.missing or sum(tensor.nbytes for _, tensor in problem.state()) > MOST_BYTES:
        return None
    for part, which in PARTS.items():
        is_remark = part is StatePart.FROZEN or not problem.is_step
        if is_remark and any(note.startswith(UNCHANGING) for note in trial.notes):
            continue
        changed = problem.another_model(secrets.randbits(SEED_BITS), part)
        try:
            finding = _with_changed(trial, changed, lambda given: _is_taken(trial, given), which, is_remark)[1]
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise
            continue
        if finding is not None:
            return finding
    return None


def _with_changed(
    trial: Trial,
    changed: AbstractContextManager[bool],
    is_fit: Callable[[list[Any]], bool],
    which: str = THEY,
    is_remark: bool | None = None,
) -> tuple[bool, GateFinding | None]:
    """Whether there was anything to try, and what is wrong with the output for parameters that are changed in place."""
    problem = trial.state.problem
    with changed as has_any:
        if not has_any:
            return True, None
        arguments, state = trial.draw(0, OWN), problem.state()
        if not is_fit(arguments):
            return False, None
        if not trial.session.change_state(state):
            return True, None
        finding, refusal = None, None
        try:
            may_stay = not problem.is_step if is_remark is None else is_remark
            after = partial(_after_change, trial, which=which, may_stay=may_stay)
            finding = _not_there(trial, state) or after(arguments)
            if finding is not None and finding.gate is None:  # now and then a faint column hangs on a rounding
                finding = after(trial.draw(0, OWN))
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise
            refusal = fault
    trial.session.change_state(problem.state())
    if refusal is not None:
        raise refusal
    where = TRAINED if which == THEY else f"once {which} had changed in place"
    detail = "" if finding is None else f"{where}: {finding.detail}"
    return True, None if finding is None else dataclasses.replace(finding, detail=detail)


def _not_there(trial: Trial, state: Sequence[tuple[str, torch.Tensor]]) -> GateFinding | None:
    """A parameter that does not hold what was written to it; of many, some are read."""
    chosen = random.SystemRandom().sample(list(state), min(READ_BACK, len(state)))
    for name, tensor in chosen:
        found = trial.session.read_state([name], [TensorMeta.of(tensor)])
        if name in found and not same_bytes(found[name], tensor):
            return failed(f"its `{name}` does not hold the values that were copied to it")
    return None


def _after_change(trial: Trial, arguments: list[Any], which: str, *, may_stay: bool) -> GateFinding | None:
    """What is wrong with a call now. Where weights may stay as they are: and would be wrong as well had the parameters
    had these values from the start."""
    if not may_stay:
        return _judged(trial, arguments)
    errors = copy.deepcopy(trial.errors)
    try:
        if _judged(trial, arguments) is None:
            return None
        reason = "it still uses what it computed from its earlier weights"
    except RunnerFault as fault:
        if fault.kind is not FaultKind.RAISED:
            raise
        reason = f"it refused them with {str(fault)[:200]}"
    trial.errors = errors
    with trial.another() as other:
        finding = _tried(other, arguments)
    if finding is None:
        trial.notes.append(
            f"{UNCHANGING}: once {which} had changed in place, {reason}; load weights before the first call"
        )
    return finding


def with_other_settings(trial: Trial) -> GateFinding | None:
    """What is wrong with the output of a model that is built with an entry of `INIT_SETS`; None where nothing is, a
    hint where its parameters do not match the reference's."""
    state, doubt = trial.state, None
    for number in range(state.problem.init_sets):
        where = f"built with INIT_SETS[{number}]"
        try:
            with state.problem.other_settings(number), trial.another() as other:
                if not other.load():
                    doubt = suspicious(
                        f"{where}: its parameters do not match the reference's: {', '.join(other.missing)}"
                    )
                finding = (
                    try_values(other, other.draw(0, OWN), SETTINGS_SLOT, where)
                    or _mixed(other, where)
                    or _on_ties(other, where)
                    or (None if other.missing else _trained(trial, other, where))
                )
        except RunnerFault as fault:
            raise fault.at(where) from None
        if finding is not None:
            return finding
    if state.problem.init_sets:
        return with_settings_beside(trial, random.SystemRandom().randrange(state.problem.init_sets)) or doubt
    return doubt


def _trained(trial: Trial, other: Trial, where: str) -> GateFinding | None:
    """What is wrong with another setting's model once its parameters have changed in place. One that is right with the
    new ones from the start is remarked on, as that of the announced settings is."""
    changed = other.state.problem.other_parameters()
    _, finding = _with_changed(other, changed, lambda given: _is_taken(other, given), STATISTICS, is_remark=True)
    finding = finding or after_training(other)
    if not any(note.startswith(UNCHANGING) for note in trial.notes):
        trial.notes += [f"{note} ({where})" for note in other.notes if note.startswith(UNCHANGING)][:1]
    return None if finding is None else dataclasses.replace(finding, detail=f"{where}, {finding.detail}")


def _on_ties(trial: Trial, where: str) -> GateFinding | None:
    """What is wrong with another setting's model where values are equal or rows zero: which kinds of values it takes,
    and how exact it is there, need not be as with the announced settings."""
    state, own = trial.state, trial.draw(0, OWN)
    if not state.traits.takes_ties or sum(tensor.nbytes for tensor in flatten(own)) > SMALL_BYTES:
        return None
    metas = [TensorMeta.of(tensor) for tensor in state.expected(own).tensors]
    for kind in (DEGENERATE, PADDED, TIED):
        scales = state.measured_scales(0, kind, metas)
        finding = None if scales is None else _on_kind(trial, kind, scales, where)
        if finding is not None:
            return finding
    return None


def _on_kind(trial: Trial, kind: Distribution, scales: Sequence[ErrorScale], where: str) -> GateFinding | None:
    """What is wrong on values of a kind with ties, where these do not matter. A kernel may raise an exception."""
    state, arguments = trial.state, trial.draw(0, kind)
    try:
        answer = state.expected(arguments)
        if not state.accuracy.can_judge(answer.tensors, kind) or state.accuracy.ties_matter(arguments):
            return None
        return try_values(trial, arguments, SETTINGS_SLOT, f"{where}, {kind.name} values", kind, answer, scales)
    except Refused:
        return None
    except RunnerFault as fault:
        if fault.kind is not FaultKind.RAISED:
            raise
        return None


def _mixed(trial: Trial, where: str) -> GateFinding | None:
    """What is wrong in calls of which sizes, values and unvarying arguments change together."""
    groups = list(size_groups(trial, announced(trial)))
    return on_mixed(trial, groups, [], most=MIXED_OF_SETTING, where=f"{where}, ")


def _is_taken(trial: Trial, arguments: list[Any]) -> bool:
    """Whether the reference gives something finite for the parameters that it has now."""
    try:
        return all_finite(trial.state.expected(arguments).tensors)
    except Refused:
        return False


def _tried(trial: Trial, arguments: list[Any]) -> GateFinding | None:
    """What is wrong with one call in a process of its own; a hint where its parameters do not match the reference's."""
    trial.start()
    if not trial.build_model(seed=secrets.randbits(31), copy_state=True):
        return suspicious(UNKNOWN)
    return _judged(trial, arguments)


def _judged(trial: Trial, arguments: list[Any]) -> GateFinding | None:
    """What is wrong with one call. Another setting's outputs and errors may be of another size than the announced
    one's: they are measured by the reference's own error there."""
    if not trial.state.problem.has_other_settings:
        return try_draw(trial, 0, OWN, arguments, observe=False)
    answer = trial.state.expected(arguments)
    scales = trial.state.accuracy.scales_on(arguments, answer.tensors, OWN)
    return None if scales is None else try_values(trial, arguments, SETTINGS_SLOT, "own values", OWN, answer, scales)
