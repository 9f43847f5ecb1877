"""One call on values that no input set has: other shapes, other numbers, another model."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.inputs.draws import OWN, Distribution
from workers.referee.problem.contract import Answer
from workers.referee.session.slots import Slot
from workers.referee.trial import GateFinding, Trial, judge_inputs, judge_on_values


def try_values(
    trial: Trial,
    arguments: list[Any],
    number: int,
    where: str,
    kind: Distribution = OWN,
    expected: Answer | None = None,
) -> GateFinding | None:
    """What is wrong with the outputs, or None; `expected` where it is known. Raises `RunnerFault` where the candidate
    refuses the call."""
    state = trial.state
    wanted = expected or state.expected(arguments)
    with opened(trial, number, arguments, wanted) as slot:
        slot.write(flatten(arguments))
        trial.session.call(slot)
        fetched = trial.session.fetch(slot)
        known = state.scales(0, kind) or state.scales(0, OWN) or ()
        scales = [dataclasses.replace(scale, usual=()) for scale in known]  # another shape's outputs are not so large
        return judge_inputs(trial, slot, flatten(arguments), wanted, where) or judge_on_values(
            trial, fetched, arguments, wanted, kind, scales, where
        )


@contextlib.contextmanager
def opened(trial: Trial, number: int, arguments: list[Any], wanted: Answer) -> Iterator[Slot]:
    """A slot for a call. The candidate's process lets go of it too, as long as it answers: it is given many."""
    slot = trial.session.open_slot(number, arguments, [TensorMeta.of(tensor) for tensor in wanted.tensors])
    try:
        yield slot
        trial.session.forget([slot])
    except RunnerFault as fault:
        if fault.kind is FaultKind.RAISED:
            trial.session.forget([slot])
        raise
    finally:
        slot.close()
