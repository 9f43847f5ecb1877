"""Is a candidate right for any parameters that the reference takes, not only for those near where training begins?

A gate that is drawn apart from zero, a temperature that begins at ten, a weight that is drawn at random: what is left
out there is right by chance. Parameters change in place to values that no initialisation draws, as widely as the
reference stays exact. Of the arguments some rows are faint, and some are close to another argument's.
"""

from __future__ import annotations

import copy
import math
import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from workers.ipc.tensors import flatten
from workers.referee.boundary.isolated_problem import SEED_BITS
from workers.referee.boundary.problem_messages import ModelVariant
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale
from workers.referee.costs.output_paths import chooses_computed
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.gates.checks.calls import try_values
from workers.referee.gates.checks.parameter_use import MOST_BYTES
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import OWN, Distribution, rebuilt
from workers.referee.inputs.float8 import is_eight_bit
from workers.referee.inputs.relations import close
from workers.referee.inputs.transforms import as_it_is
from workers.referee.inputs.value_structure import structured
from workers.referee.state import ReferenceState
from workers.referee.trial import UNCHANGING, Trial

WIDE_SLOT = 2500
KINDS = {
    ModelVariant.SPREAD: "with parameters spread over a wide range (matrices near rank one)",
    ModelVariant.GROWN: "with parameters of up to ten times their size (matrices with a faint column)",
}
WIDTHS = ((1.0, True), (1.0, False), (0.5, True), (0.25, False))
"""How much of the range is tried, and whether with both signs: the first for which the reference is exact."""
EXACT = 1e-4
"""Relative error of the reference's from which on a kernel's may be another one by more than the bound has room for."""
LEAST_LEFT = 0.25
"""Of what an output of few elements usually is: where less is left of its terms, their errors show."""
FAINT, FAINT_ROWS, CLOSE_ROWS = 1e-3, 1 / 8, 1 / 2
"""What some rows of the arguments are multiplied by, which share of them, and which is close to another argument's."""


def _some_faint(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of which some rows are faint."""
    return torch.where(_rows(tensor, FAINT_ROWS), tensor * FAINT, tensor)


AS_DRAWN = Distribution(name="own", transform=as_it_is, harsh=True, steady=True)
ROWS = Distribution(name="own and faint", transform=_some_faint, harsh=True, steady=True)


class Call(NamedTuple):
    """A call for which the reference is exact."""

    arguments: list[Any]
    kind: Distribution
    answer: Answer
    scales: Sequence[ErrorScale]


def with_wide_parameters(trial: Trial) -> GateFinding | None:
    """What is wrong with the output for parameters that are spread widely, or have a structure. A kernel may raise an
    exception; weights may stay as they are where no gradients are judged, if it is right with the others from the
    start."""
    state = trial.state
    if trial.missing or state.is_large or sum(tensor.nbytes for _, tensor in state.problem.state()) > MOST_BYTES:
        return None
    for variant in KINDS:
        finding = _on_widest(trial, variant)
        if finding is not None:
            return finding
    return None


def _on_widest(trial: Trial, variant: ModelVariant) -> GateFinding | None:
    """What is wrong for the widest parameters of a kind for which the reference is exact."""
    problem, seed = trial.state.problem, secrets.randbits(SEED_BITS)
    may_tie = trial.state.traits.knows_ties and not trial.state.traits.chooses_computed
    for width, signed in WIDTHS:
        with problem.wide_parameters(seed, variant, width, signed=signed, zeros=signed and may_tie) as has_any:
            if not has_any:
                return None
            call = _fit_call(trial)
            if call is None:
                continue
            finding = _in_place_or_anew(trial, call, KINDS[variant])
        trial.session.change_state(problem.state())
        return finding
    return None


def _fit_call(trial: Trial) -> Call | None:
    """A call with faint and close rows, or one of the problem's own, where the reference is exact for it."""
    state, own = trial.state, trial.draw(0, OWN)
    kinds = [AS_DRAWN] if state.problem.is_step else [ROWS, AS_DRAWN]
    for kind in [OWN] if chooses_computed(state.analysis) else kinds:
        arguments = _of_rows(state, own) if kind is ROWS else own
        found = state.accuracy.steady_answer(arguments, kind)
        if found is not None and all(map(_is_exact, found[1], found[0].tensors)):
            return Call(arguments, kind, *found)
    return None


def _is_exact(scale: ErrorScale, output: torch.Tensor) -> bool:
    """Whether the reference is so exact in an output that another order of its terms does not matter."""
    if output.dtype is torch.float32 and scale.relative > EXACT:
        return False
    return not scale.usual or float(output.double().norm()) >= LEAST_LEFT * math.hypot(*scale.usual)


def _of_rows(state: ReferenceState, own: list[Any]) -> list[Any]:
    """Arguments of which some rows are faint, or close to another's, as far as the problem's promises permit."""
    near, limits = _partly_close(own), state.problem.limits
    return state.changed(limits.kept(own, near) if limits else near, ROWS)


def _partly_close(arguments: list[Any]) -> list[Any]:
    """Arguments of which some rows are close to those of an earlier one, where any are alike."""
    others = close(arguments)
    if others is None:
        return arguments
    pairs = zip(flatten(arguments), flatten(others), strict=True)
    return list(rebuilt(arguments, [_partly(own, other) for own, other in pairs]))


def _partly(own: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """A tensor with some rows of another."""
    if own is other or not own.is_floating_point() or is_eight_bit(own):
        return own
    return structured(own, torch.where(_rows(own, CLOSE_ROWS), other, own))


def _rows(tensor: torch.Tensor, share: float) -> torch.Tensor:
    """Some rows: all but the last dimension say which."""
    shape = (*tensor.shape[:-1], 1) if tensor.dim() > 1 else tensor.shape
    return torch.rand(shape, device=tensor.device) < share


def _in_place_or_anew(trial: Trial, call: Call, where: str) -> GateFinding | None:
    """What is wrong for parameters that change in place; where weights may stay as they are, also in a process that has
    these from the start."""
    may_stay, errors = not trial.state.problem.is_step, copy.deepcopy(trial.errors)
    is_known = any(note.startswith(UNCHANGING) for note in trial.notes)
    if not (may_stay and is_known):
        if not trial.session.change_state(trial.state.problem.state()):
            return None
        finding = _judged_twice(trial, call, where)
        if finding is None or not may_stay:
            return finding
        trial.errors = errors
    with trial.another() as other:
        other.start()
        if not other.build_model(seed=secrets.randbits(SEED_BITS), copy_state=True):
            return None
        finding = _judged_twice(other, call, where)
    if finding is None and not is_known:
        trial.notes.append(f"{UNCHANGING}: {where}, it still uses what it computed from its earlier weights")
    return finding


def _judged_twice(trial: Trial, call: Call, where: str) -> GateFinding | None:
    """What is wrong with a call, and with another one: now and then a faint row hangs on a rounding."""
    finding = _judged(trial, call, where)
    if finding is None or finding.gate is not None:
        return finding
    again = _fit_call(trial)
    return None if again is None else _judged(trial, again, where)


def _judged(trial: Trial, call: Call, where: str) -> GateFinding | None:
    """What is wrong with a call, which a kernel may refuse."""
    where = f"{where}, {call.kind.name} values"
    try:
        return try_values(trial, call.arguments, WIDE_SLOT, where, call.kind, call.answer, call.scales)
    except RunnerFault as fault:
        if fault.kind is not FaultKind.RAISED:
            raise fault.at(where) from None
        return None
