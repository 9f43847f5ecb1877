"""The generalization gate: shapes, values and parameters that nobody announced, and the held-out input sets."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from services.domain.constraints import sentences
from services.domain.gates import GateStatus
from workers.ipc.sparse import holds_sparse
from workers.ipc.tensors import flatten, structure
from workers.referee.comparison.tolerance import all_finite
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import try_values
from workers.referee.gates.checks.held_out_timing import time_held_out
from workers.referee.gates.checks.left_kinds import on_left_kinds
from workers.referee.gates.checks.left_state import leaves_state
from workers.referee.gates.checks.other_values import on_other_values, taken
from workers.referee.gates.checks.parameter_use import with_other_parameters, with_other_settings
from workers.referee.gates.checks.recovery import after_an_exception
from workers.referee.gates.checks.strided_arguments import on_strided
from workers.referee.gates.finding import GateFinding, passed
from workers.referee.inputs.distributions import OWN, Distribution
from workers.referee.inputs.index_structure import IndexStructure, first_rows, index_structure, row_count
from workers.referee.inputs.resize import cut_along, cut_sizes, resized
from workers.referee.state import ReferenceState
from workers.referee.trial import Trial
from workers.runner.step import DENSE

DERIVED_SLOT = 1000
LARGEST_BYTES = 64 << 20
"""Inputs of a call from which on nothing larger is tried: the reference and the candidate would take their time."""
GROWTH = 1.5
MORE_KINDS = 0.3
"""Share of the shapes that are tried on two further kinds of values."""
MAY_RAISE = ". A kernel may raise an exception for shapes that it does not support"
"""What is said of a mismatch where nothing was announced: it need not be able to do everything."""
IN_BETWEEN = 68
"""Sizes from here on, up to the announced one, are tried beside smaller ones."""


def examine(trial: Trial) -> GateFinding:
    """Held-out input sets must work. Derived shapes, and other values of arguments that never change, must be right or
    be refused by an exception: silence fails. Fails with the first mismatch."""
    notes = list[str]()
    promised = sentences(trial.state.problem.limits.constraints)
    finding = (
        _on_held_out(trial) or _on_derived(trial, notes) or on_left_kinds(trial, notes) or on_other_values(trial, notes)
    )
    if finding is not None:
        return finding
    doubt = with_other_settings(trial)
    if doubt is not None and doubt.status is GateStatus.FAILED:
        return doubt
    doubt = (None if notes and _is_enough(trial) else _later(trial)) or doubt
    if doubt is not None and doubt.status is GateStatus.FAILED:
        return doubt
    finding = time_held_out(trial) or doubt
    if finding is not None:
        return finding
    if not _is_enough(trial):
        notes += on_strided(trial)
    held_out = len(trial.state.held_out_numbers)
    counted = [f"passed on {held_out} held-out input {'set' if held_out == 1 else 'sets'}"] if held_out else []
    return passed("; ".join([*promised, *counted, *notes]))


def _later(trial: Trial) -> GateFinding | None:
    """What is wrong with other parameters, and with what calls leave in the model after so many others."""
    doubt = with_other_parameters(trial)
    if doubt is not None and doubt.status is GateStatus.FAILED:
        return doubt
    return leaves_state(trial) or doubt


def _on_held_out(trial: Trial) -> GateFinding | None:
    """What is wrong on the held-out input sets."""
    for number in trial.state.held_out_numbers:
        where = f"held-out input set {-number}"
        arguments = trial.draw(number, OWN)
        finding = try_values(trial, arguments, number, where) or _changed(trial, arguments, number, where)
        if finding is not None:
            return finding
    return None


def _on_derived(trial: Trial, notes: list[str]) -> GateFinding | None:
    """What is wrong on other shapes; `notes` gets what became of each."""
    for index, arguments in enumerate(_each_once(trial, _derived(trial))):
        if notes and _is_enough(trial):
            notes.append("there was no time for other shapes")
            break
        where = f"derived shapes {_shown(trial.shapes_of(arguments))}"
        try:
            finding = try_values(trial, arguments, DERIVED_SLOT + index, where)
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                rest = "" if fault.kind is FaultKind.FORGED else MAY_RAISE
                raise RunnerFault(fault.kind, f"{where}: {fault}{rest}") from None
            notes.append(f"{where}: refused with {str(fault)[:200]}")
            finding = after_an_exception(trial)
            if finding is not None:
                return finding
            continue
        if finding is None and not _is_enough(trial):
            finding = _changed(trial, arguments, DERIVED_SLOT + index, where)
        if finding is not None:
            return dataclasses.replace(finding, detail=finding.detail + MAY_RAISE) if finding.gate is None else finding
        notes.append(f"passed on {where}")
    return None


def _changed(trial: Trial, arguments: list[Any], number: int, where: str) -> GateFinding | None:
    """What is wrong on further values of these shapes, changed as those of the open input sets were, where the
    reference takes that: a kernel that is right on any values of some sizes may take a short cut at others."""
    state = trial.state
    for kind in _other_kinds(trial):
        changed = state.changed(arguments, kind)
        try:
            expected = state.expected(changed)
        except Refused:
            continue
        if not all_finite(expected.tensors):
            continue
        finding = try_values(trial, changed, number, f"{where}, {kind.name} values", kind, expected)
        if finding is not None and state.scales_on(changed, expected.tensors, kind) is not None:
            return finding
    return None


def _is_enough(trial: Trial) -> bool:
    """Whether the time for other shapes is used up."""
    return trial.used_share > trial.budget.shapes_share


def _other_kinds(trial: Trial) -> list[Distribution]:
    """A kind of values of which some are large, and another one now and then, of those tried on the first input set."""
    generator = random.SystemRandom()
    kinds = [one for one in trial.state.usable(0) if one.finite and not one.has_ties and one.layout == DENSE]
    harsh = [one for one in kinds if one.harsh]
    others = [one for one in kinds if not one.harsh and one.transform is not None]
    chosen = [generator.choice(harsh)] if harsh else []
    if others and (not chosen or generator.random() < MORE_KINDS):
        chosen.append(generator.choice(others))
    return chosen


def _each_once(trial: Trial, calls: Iterator[list[Any]]) -> Iterator[list[Any]]:
    """Where sizes are multiples of something, calls of the same shapes once: there are few legal sizes."""
    seen = set[tuple[tuple[int, ...], ...]]()
    for arguments in calls:
        shapes = trial.shapes_of(arguments)
        if trial.state.problem.limits and shapes in seen:
            continue
        seen.add(shapes)
        yield arguments


def _derived(trial: Trial) -> Iterator[list[Any]]:
    """Other shapes that the reference takes: smaller ones, a single slice, larger ones and, on a CPU, none at all. One
    after the other, since cuts of large inputs may be large."""
    arguments = _announced(trial)
    indices = index_structure(flatten(arguments))
    if indices is not None or holds_sparse(structure(arguments, [])):
        yield from _fewer_rows(trial.state, arguments, indices)
        return
    steps = trial.state.problem.limits.steps(arguments)
    del arguments
    for last in (False, True):
        arguments = _announced(trial)
        tensors = cut_along(flatten(arguments), last=last, generator=random.SystemRandom(), steps=steps)
        if tensors is not None and (call := taken(trial.state, arguments, tensors)):
            del arguments, tensors
            yield call
    arguments = _announced(trial)
    for cut in cut_sizes(flatten(arguments), random.SystemRandom(), steps):
        if call := taken(trial.state, arguments, cut):
            yield call
    for size, last in _other_sizes(trial.state, flatten(arguments)):
        tensors = resized(flatten(arguments), size, last=last, apart=trial.state.chooses, steps=steps)
        if tensors is not None and (call := taken(trial.state, arguments, tensors)):
            yield call


def _fewer_rows(state: ReferenceState, arguments: list[Any], found: IndexStructure | None) -> list[list[Any]]:
    """Sparse matrices of fewer rows: their indices can be cut together only."""
    if found is None:
        return []
    tensors, most = flatten(arguments), row_count(flatten(arguments), found)
    counts = dict.fromkeys((min(most, 67), random.SystemRandom().randrange(1, most + 1), 1))
    cuts = [first_rows(tensors, found, count) for count in counts if count < most]
    return [call for cut in cuts if (call := taken(state, arguments, cut))]


def _announced(trial: Trial) -> list[Any]:
    """Arguments of `forward` as the problem draws them; cotangents follow from their shapes."""
    return trial.state.problem.forward_arguments(trial.draw(0, OWN))


def _other_sizes(state: ReferenceState, tensors: list[torch.Tensor]) -> list[tuple[int, bool]]:
    """Sizes of the leading dimension: one, more than announced, and zero; and of the last one, more than announced."""
    if not tensors or tensors[0].dim() == 0 or tensors[0].shape[0] < 2:
        return []
    larger: list[tuple[int, bool]] = []
    if sum(tensor.nbytes for tensor in tensors) <= LARGEST_BYTES:
        larger = [(size, last) for last in (False, True) if (size := _in_between(tensors[0], last=last))]
        larger.append((_grown(tensors[0].shape[0]), False))
        if tensors[0].dim() > 1:
            larger.append((_grown(tensors[0].shape[-1]), True))
    # a grid of no blocks is an error of CUDA's that many kernels leave to whoever launches next
    return [(1, False), *larger, *([] if state.place.is_gpu else [(0, False)])]


def _grown(size: int) -> int:
    return round(size * random.SystemRandom().uniform(1.0, GROWTH)) + 1


def _in_between(tensor: torch.Tensor, *, last: bool) -> int | None:
    """A size below the announced one that is not small."""
    size = tensor.shape[-1 if last else 0]
    if size <= IN_BETWEEN or (last and tensor.dim() < 2):
        return None
    return random.SystemRandom().randrange(IN_BETWEEN, size)


def _shown(shapes: Sequence[Sequence[int]]) -> str:
    """Shapes as people write them: `67×2048, 2048`."""
    return ", ".join("×".join(str(size) for size in shape) or "scalar" for shape in shapes)
