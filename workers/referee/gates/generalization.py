"""The generalization gate: shapes that nobody announced, and the held-out input sets."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any

import torch

from services.domain.evaluations import GateName
from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.comparison import all_finite
from workers.referee.draws import OWN, cut_along, rebuilt
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.problem import moved, output_tensors
from workers.referee.state import ReferenceState
from workers.referee.trial import GateFinding, Trial, failed, inputs_changed, judge_outputs, passed, shapes_of

DERIVED_SLOT = 1000


class GeneralizationGate:
    """Held-out input sets must work. Derived shapes must be right or be refused by an exception: silence fails."""

    name = GateName.GENERALIZATION

    def examine(self, trial: Trial) -> GateFinding:
        """Fails with the first mismatch."""
        for number in trial.state.held_out_numbers:
            finding = self._try(trial, trial.draw(number, OWN), number, f"held-out input set {-number}")
            if finding is not None:
                return finding
        notes = []
        for index, arguments in enumerate(_derived(trial)):
            where = f"derived shapes {_shown(shapes_of(arguments))}"
            try:
                finding = self._try(trial, arguments, DERIVED_SLOT + index, where)
            except RunnerFault as fault:
                if fault.kind is not FaultKind.RAISED:
                    raise
                notes.append(f"{where}: refused with {str(fault)[:200]}")
                continue
            if finding is not None:
                return finding
            notes.append(f"passed on {where}")
        held_out = len(trial.state.held_out_numbers)
        counted = [f"passed on {held_out} held-out input {'set' if held_out == 1 else 'sets'}"] if held_out else []
        return passed("; ".join([*counted, *notes]))

    def _try(self, trial: Trial, arguments: list[Any], number: int, where: str) -> GateFinding | None:
        state = trial.state
        expected = state.expected(arguments)
        slot = trial.session.open_slot(number, arguments, [TensorMeta.of(tensor) for tensor in expected])
        try:
            slot.write(flatten(arguments))
            trial.session.call(slot)
            fetched = trial.session.fetch(slot)
            changed = inputs_changed(trial, slot, flatten(arguments))
            if changed is not None:
                return _changed(where, changed)
            return judge_outputs(trial, fetched, expected, state.scales(0, OWN) or (), where)
        finally:
            slot.close()


def _changed(where: str, index: int) -> GateFinding:
    return failed(f"{where}: input {index} was changed by the call", GateName.INTEGRITY)


def _derived(trial: Trial) -> list[list[Any]]:
    """Smaller shapes that the reference takes: the leading dimension cut, and the last one."""
    generator = random.SystemRandom()
    state, arguments = trial.state, trial.draw(0, OWN)
    found = []
    for last in (False, True):
        tensors = cut_along(flatten(arguments), last=last, generator=generator)
        if tensors is None:
            continue
        smaller = list(rebuilt(arguments, tensors))
        if not _rehearsed(state, smaller):
            continue
        try:
            outputs = output_tensors(state.problem.run(smaller))
        except Refused:
            continue
        if len(outputs) == len(state.metas(0)) and all_finite(outputs):
            found.append(smaller)
    return found


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
