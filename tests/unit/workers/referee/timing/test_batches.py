"""Of every batch of short calls one is judged: what it handed over at once, and what it returned, at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import TensorMeta
from workers.referee.boundary.slots import Slot
from workers.referee.comparison.call_outputs import Fetched, Output
from workers.referee.inputs.fresh_values import FreshValues
from workers.referee.timing.batches import LEAST_ROUNDS, MOST_CALLS, batched
from workers.referee.timing.single_calls import Checked, SamplingBudget, Side

BUDGET = SamplingBudget(seconds=0.0)


class WrongError(Exception):
    """What the check below raises."""


class Session:
    """Negates what is in its slots; where told so, nothing after the eighth call of a batch."""

    def __init__(self, *, cuts_short: bool = False, overwrites: bool = False) -> None:
        self.sizes: list[int] = []
        self.now = 0.0
        self._cuts_short = cuts_short
        self._overwrites = overwrites
        self._results: list[torch.Tensor] = []
        self._held: list[torch.Tensor] = []

    def open_sibling(self, slot: Slot, number: int, *, own_outputs: bool) -> Slot:
        return slot.sibling(number, own_outputs=own_outputs)

    def forget(self, slots: Sequence[Slot]) -> None:
        pass

    def call_batch(self, slots: Sequence[Slot], model: str) -> float:
        self.sizes.append(len(slots))
        results = [-slot.inputs.tensors[0].clone() for slot in slots]
        if self._cuts_short:
            results[8:] = [results[7]] * (len(slots) - 8)
        self._results = results
        self._held = [results[-1]] * len(results) if self._overwrites else results
        return 1e-6 * len(slots)

    def fetch(self, slot: Slot, index: int) -> Fetched:
        return _fetched(self._results[index])

    def held_of_batch(self, slot: Slot, index: int) -> Fetched:
        return _fetched(self._held[index])


def _fetched(value: torch.Tensor) -> Fetched:
    output = Output(kind="tensor", meta=TensorMeta.of(value), alias=None, value=value)
    return Fetched(outputs=(output,), structure=None, wall_s=0.0)


def measure(session: Session) -> list[bool]:
    """Whether each judged call was brief. Raises `WrongError` at the first wrong one."""
    given = [torch.randn(8)]
    slot = Slot(0, given, [TensorMeta.of(given[0])], TensorDevice())
    candidate: Any = Side(session=session, slot=slot, model="plain")  # type: ignore[arg-type]
    baseline: Any = Side(session=Session(), slot=slot, model="eager")  # type: ignore[arg-type]
    seen: list[bool] = []

    def check(checked: Checked) -> None:
        seen.append(checked.brief)
        if not torch.equal(-checked.inputs[0], checked.fetched.outputs[0].value):  # type: ignore[arg-type]
            raise WrongError

    batched(candidate, baseline, FreshValues([given], lambda: [torch.randn(8)]), BUDGET, check=check)
    return seen


def test_a_call_of_every_batch_is_judged() -> None:
    session = Session()

    seen = measure(session)

    assert session.sizes == [MOST_CALLS] * LEAST_ROUNDS
    assert len(seen) == len(session.sizes)
    assert not all(seen), "other calls follow the first batch"


def test_who_leaves_out_the_end_of_a_batch_is_found() -> None:
    with pytest.raises(WrongError):
        measure(Session(cuts_short=True))


def test_outputs_that_later_calls_overwrite_are_found() -> None:
    with pytest.raises(WrongError):
        measure(Session(overwrites=True))
