"""The generalization gate: shapes, numbers and parameters that nobody announced, and the held-out input sets."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Sequence
from typing import Any

import torch

from services.domain.gates import GateName
from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.comparison import all_finite
from workers.referee.draws import OWN, rebuilt
from workers.referee.error_scales import same_bytes
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.held_out import time_held_out
from workers.referee.gates.parameters import with_other_parameters
from workers.referee.problem import cloned, moved, output_tensors
from workers.referee.resizing import cut_along, cut_sizes, resized
from workers.referee.state import ReferenceState
from workers.referee.trial import GateFinding, Trial, judge_inputs, judge_on_values, passed

DERIVED_SLOT = 1000
LARGEST_BYTES = 64 << 20
"""Inputs of a call from which on nothing larger is tried: the reference and the candidate would take their time."""
GROWTH = 1.5
IN_BETWEEN = 68
"""Sizes from here on, up to the announced one, are tried beside smaller ones."""


class GeneralizationGate:
    """Held-out input sets must work. Derived shapes must be right or be refused by an exception: silence fails."""

    name = GateName.GENERALIZATION

    def examine(self, trial: Trial) -> GateFinding:
        """Fails with the first mismatch."""
        for number in trial.state.held_out_numbers:
            finding = self._try(trial, trial.draw(number, OWN), number, f"held-out input set {-number}")
            if finding is not None:
                return finding
        notes = list[str]()
        numbers = _other_numbers(trial)
        for index, arguments in enumerate([*_derived(trial), *numbers]):
            if notes and self.suffices(trial):
                notes.append("there was no time for other shapes")
                break
            has_numbers = any(arguments is one for one in numbers)
            where = "other numbers" if has_numbers else f"derived shapes {_shown(trial.shapes_of(arguments))}"
            try:
                finding = self._try(trial, arguments, DERIVED_SLOT + index, where)
            except RunnerFault as fault:
                if fault.kind is not FaultKind.RAISED:
                    raise RunnerFault(fault.kind, f"{where}: {fault}") from None
                notes.append(f"{where}: refused with {str(fault)[:200]}")
                continue
            if finding is not None:
                return finding
            notes.append(f"passed on {where}")
        finding = None if notes and self.suffices(trial) else with_other_parameters(trial)
        if finding is not None:
            return finding
        finding = time_held_out(trial)
        if finding is not None:
            return finding
        held_out = len(trial.state.held_out_numbers)
        counted = [f"passed on {held_out} held-out input {'set' if held_out == 1 else 'sets'}"] if held_out else []
        return passed("; ".join([*counted, *notes]))

    def suffices(self, trial: Trial) -> bool:  # noqa: ARG002 - for those who can do with less
        """Whether the shapes tried so far are enough."""
        return False

    def _try(self, trial: Trial, arguments: list[Any], number: int, where: str) -> GateFinding | None:
        state = trial.state
        expected = state.expected(arguments)
        slot = trial.session.open_slot(number, arguments, [TensorMeta.of(tensor) for tensor in expected.tensors])
        try:
            slot.write(flatten(arguments))
            trial.session.call(slot)
            fetched = trial.session.fetch(slot)
            return judge_inputs(trial, slot, flatten(arguments), expected, where) or judge_on_values(
                trial, fetched, arguments, expected, OWN, state.scales(0, OWN) or (), where
            )
        finally:
            slot.close()


def _derived(trial: Trial) -> list[list[Any]]:
    """Other shapes that the reference takes: smaller ones, a single slice, larger ones and, on a CPU, none at all."""
    found = []
    for last in (False, True):
        arguments = _announced(trial)
        tensors = cut_along(flatten(arguments), last=last, generator=random.SystemRandom())
        if tensors is not None and (taken := _taken(trial.state, arguments, tensors)):
            found.append(taken)
    arguments = _announced(trial)
    cuts = cut_sizes(flatten(arguments), random.SystemRandom())
    found += [taken for cut in cuts if (taken := _taken(trial.state, arguments, cut))]
    for size, last in _other_sizes(trial.state, flatten(arguments)):
        tensors = resized(flatten(arguments), size, last=last)
        if tensors is not None and (taken := _taken(trial.state, arguments, tensors)):
            found.append(taken)
    return found


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


def _other_numbers(trial: Trial) -> list[list[Any]]:
    """The arguments with other numbers in the place of plain floating-point ones, where the reference takes that."""
    arguments = trial.draw(0, OWN)
    if not any(type(one) is float and math.isfinite(one) for one in arguments):
        return []
    changed = [_other_number(one) if type(one) is float else one for one in arguments]
    taken = _taken(trial.state, changed, flatten(changed))
    return [] if taken is None or not _is_settled(trial.state, taken) else [taken]


def _is_settled(state: ReferenceState, arguments: list[Any]) -> bool:
    """Whether the reference gives the same twice: a dropout's rate that was zero would no longer."""
    first, second = (output_tensors(state.problem.run(cloned(arguments))) for _ in range(2))
    return all(same_bytes(one, other) for one, other in zip(first, second, strict=True))


def _other_number(number: float) -> float:
    factor = random.SystemRandom().uniform(0.6, 1.6)
    return number * factor if number else factor - 1.1


def _taken(state: ReferenceState, arguments: list[Any], tensors: list[torch.Tensor]) -> list[Any] | None:
    """The arguments with these tensors, and cotangents to fit, where the reference takes them."""
    other = list(rebuilt(arguments, tensors))
    if not _rehearsed(state, other):
        return None
    try:
        other = state.problem.with_cotangents(other)
        outputs = output_tensors(state.problem.run(cloned(other)))
    except Refused:
        return None
    return other if len(outputs) == len(state.metas(0)) and all_finite(outputs) else None


def _rehearsed(state: ReferenceState, arguments: list[Any]) -> bool:
    """Whether the reference takes whole numbers with shapes it was not written for, tried on the CPU: an index that
    is out of range raises there; on a GPU it costs the process its device."""
    if not state.place.is_gpu or all(tensor.is_floating_point() for tensor in flatten(arguments)):
        return True
    host = torch.device("cpu")
    model = copy.deepcopy(state.problem.model).to(host)
    try:
        with torch.no_grad():
            model(*moved(arguments, host))
    except Exception:  # noqa: BLE001 - untrusted code that was not written for these shapes
        return False
    return True


def _shown(shapes: Sequence[Sequence[int]]) -> str:
    """Shapes as people write them: `67×2048, 2048`."""
    return ", ".join("×".join(str(size) for size in shape) or "scalar" for shape in shapes)
