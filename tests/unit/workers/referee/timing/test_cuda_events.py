"""The parts of timing on a GPU that need none."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import pytest
import torch

from services.domain.events import JsonValue
from workers.ipc.messages import MessageError
from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import TensorMeta
from workers.referee.boundary.slots import Slot
from workers.referee.comparison.call_outputs import Fetched
from workers.referee.inputs.fresh_values import FreshValues
from workers.referee.timing import cuda_events
from workers.referee.timing.cuda_events import (
    FRESH_CALLS,
    LOOKS,
    MOST_CALLS,
    _batch_size,
    _Batches,
    _Looks,
    _marks,
    _plan,
    _round,
    hidden_s,
    process_spread,
)
from workers.referee.timing.single_calls import Checked, SamplingBudget, Side
from workers.runner.answers import ANSWERS, BatchTimed
from workers.runner.protocol import TimeBatch


def slot_of(elements: int) -> Slot:
    return Slot(0, [torch.zeros(4)], [TensorMeta(dtype="float32", shape=(elements,))], TensorDevice())


def batches_of(
    claims: list[float], short: Sequence[float] = (), long: Sequence[float] = (), *, trusted: bool = False
) -> _Batches:
    slots = [slot_of(4) for _ in range(20)]
    side = Side(session=None, slot=slots[0], model="plain", trusted=trusted)  # type: ignore[arg-type]
    return _Batches(
        side=side, slots=slots, means=claims, long_walls=list(long), pairs=list(zip(short, long, strict=True))
    )


def small_values() -> FreshValues:
    return FreshValues([[torch.rand(4)]], lambda: [torch.rand(4)], random.Random(1))


def test_small_problems_are_timed_in_long_batches() -> None:
    assert _batch_size(slot_of(16)) == MOST_CALLS


def test_large_problems_are_timed_one_call_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_events, "BATCH_BYTES", 3 << 20)
    assert [_batch_size(slot_of(elements)) for elements in (1 << 18, 1 << 19)] == [2, 1]


def test_what_the_events_did_not_see_of_single_calls_is_told_by_empty_batches() -> None:
    slots = [slot_of(4)]
    side = Side(session=None, slot=slots[0], model="plain")  # type: ignore[arg-type]
    single = _Batches(side=side, slots=slots, means=[5e-3], long_walls=[6e-3, 7e-3], pairs=[(0.5e-3, 6e-3)])
    assert single.slopes() == pytest.approx((0.5e-3, 0.5e-3))


def test_what_the_events_did_not_see_is_the_slope_beyond_them() -> None:
    honest = batches_of([100e-6] * 30, [1.3e-3, 1.2e-3, 1.2e-3], [2.4e-3, 5.0e-3, 2.4e-3])
    assert honest.slopes() == pytest.approx((20e-6, 20e-6))
    lying = batches_of([1e-6] * 30, [1.3e-3, 1.2e-3, 1.2e-3], [2.4e-3, 5.0e-3, 2.4e-3])
    assert hidden_s(lying, honest) == pytest.approx(99e-6)


def test_one_lucky_batch_of_the_rival_accuses_nobody() -> None:
    usual = [100e-6] * 30, [1.2e-3] * 5, [2.4e-3] * 5
    lucky = batches_of([100e-6] * 30, [1.2e-3] * 5, [2.4e-3] * 4 + [2.0e-3])
    assert hidden_s(batches_of(*usual), lucky) == pytest.approx(0.0, abs=1e-9)


def test_every_call_gets_values_of_its_own() -> None:
    plan = _plan(small_values(), 20, random.Random(1))
    assert len({float(planned.tensors(small_values())[0][0]) for planned in plan}) == 20


def test_some_calls_of_a_batch_of_large_inputs_are_on_values_drawn_for_them_alone() -> None:
    draws = [[torch.randn(1024, 512)] for _ in range(3)]
    values = FreshValues(draws, lambda: [torch.randn(1024, 512)], random.Random(1))
    plan = _plan(values, 20, random.Random(1), fresh=FRESH_CALLS)
    assert sum(planned.mixture is None for planned in plan) == FRESH_CALLS
    marks = _marks(plan, short=True)
    assert len(marks) == 30
    assert marks[10:] == [planned.mixture is None for planned in plan]
    assert marks[:10] == list(reversed(marks[10:]))[:10]


def test_a_candidate_gets_new_inputs_for_each_call_and_a_trusted_side_keeps_its_own() -> None:
    values = small_values()
    plan = _plan(values, 20, random.Random(1))
    candidate, baseline = batches_of([]), batches_of([], trusted=True)
    for batches in (candidate, baseline):
        batches.fill(values, plan)
    assert len({float(slot.inputs.tensors[0][0]) for slot in candidate.slots}) == 20
    assert {float(slot.inputs.tensors[0][0]) for slot in baseline.slots} == {0.0}


@pytest.mark.parametrize("late", [-1, 3, True, None])
def test_a_number_of_late_calls_that_is_none_is_refused(late: JsonValue) -> None:
    with pytest.raises(MessageError):
        ANSWERS.decode_exactly({"answer": "timed", "each": [1e-3, 1e-3], "late": late})


@pytest.mark.parametrize("claim", [True, -1.0, "1", None, 1e9, float("nan")])
def test_a_claim_that_is_no_time_is_refused(claim: JsonValue) -> None:
    with pytest.raises(MessageError):
        ANSWERS.decode_exactly({"answer": "timed", "each": [1e-3, claim]})


class Answering:
    """A session that claims a millisecond for every call, and hands out the number of the call that is fetched."""

    def __init__(self, late: Iterable[int] = ()) -> None:
        """`late`: the calls of each batch that wait for the host; of further ones none."""
        self.sizes: list[int] = []
        self._late = iter(late)
        self.fetched: list[tuple[int, int]] = []

    def ask(self, batch: TimeBatch, _expected: type[BatchTimed], *, limit_s: float) -> tuple[BatchTimed, float]:
        assert limit_s > 0
        self.sizes.append(len(batch.slots))
        each = (1e-3,) * len(batch.slots)
        return BatchTimed(each=each, late=next(self._late, 0)), 1e-3 * len(batch.slots)

    def fetch(self, slot: Slot, index: int) -> Fetched:
        self.fetched.append((self.sizes[-1], index))
        return Fetched(outputs=(), structure=index, wall_s=1e-3)

    def drop(self) -> None:
        """Nothing is held."""


def test_processes_differ_by_more_in_shorter_calls() -> None:
    spreads = [process_spread(seconds) for seconds in (0.0, 1e-6, 1e-5, 1e-3)]
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[-1] == pytest.approx(1e-3, rel=0.01)
    assert spreads[1] == pytest.approx(0.1, rel=0.01)


def rivals(late: Iterable[int], usual: int = 0) -> tuple[_Batches, _Batches]:
    """Two sides that have warmed up, of which the second waits for the host as said, and usually in `usual` calls."""
    ours, theirs = batches_of([]), batches_of([])
    ours.side = replace(ours.side, session=Answering())  # type: ignore[arg-type]
    theirs.side = replace(theirs.side, session=Answering([usual, *late]))  # type: ignore[arg-type]
    for batches in (ours, theirs):
        batches.warm_up()
    return ours, theirs


@pytest.mark.parametrize(("usual", "counts"), [(0, False), (5, False), (6, True)])
def test_a_pair_in_which_a_side_waits_for_the_host_that_usually_does_not_is_taken_again(
    usual: int, counts: bool
) -> None:
    values, generator = small_values(), random.Random(1)
    plan = _plan(values, 20, generator)
    ours, theirs = rivals([0, 1, 0, 0], usual)
    assert _round(ours, theirs, values, plan, generator, may_repeat=True) is counts
    assert len(ours.means) == len(theirs.means) == 2 * counts
    assert _round(ours, theirs, values, plan, generator, may_repeat=True)
    assert len(ours.long_walls) == len(theirs.pairs) == 1 + counts


def test_a_host_that_stays_busy_ends_a_measurement_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = rivals([0, 0, *[1] * 1000])
    opened = {id(ours.side): ours, id(theirs.side): theirs}
    monkeypatch.setattr(cuda_events, "_opened", lambda side: _entered(opened[id(side)]))
    samples = cuda_events.interleaved(
        ours.side, theirs.side, small_values(), SamplingBudget(seconds=0.01), check=lambda _checked: None
    )
    assert len(samples.candidate) == len(samples.baseline) >= cuda_events.LEAST
    assert len(samples.fresh) == len(samples.each)


def test_calls_of_short_batches_and_of_long_ones_are_looked_at() -> None:
    session, checked = Answering(), list[Checked]()
    ours, theirs = batches_of([]), batches_of([])
    ours.side = replace(ours.side, session=session)  # type: ignore[arg-type]
    theirs.side = replace(theirs.side, session=Answering())  # type: ignore[arg-type]
    values, generator = small_values(), random.Random(1)
    plan = _plan(values, 20, generator)
    looks = _Looks(values=values, generator=generator, check=checked.append)
    _round(ours, theirs, values, plan, generator, looks=looks)
    assert session.sizes == [10, 20]
    assert [size for size, _ in session.fetched] == [10] * LOOKS + [20] * LOOKS
    order = [list(reversed(plan))[:10], plan]
    for one, (size, index) in zip(checked, session.fetched, strict=True):
        assert one.fetched.structure == index
        assert torch.equal(one.inputs[0], order[size == 20][index].tensors(values)[0])


@pytest.mark.parametrize("later", [0.0, 1.0])
def test_a_batch_is_compared_with_its_own_values_where_a_check_put_others_in(
    monkeypatch: pytest.MonkeyPatch, later: float
) -> None:
    """A check may have the candidate called on other values: what lies in the slots then is another round's matter."""
    ours, theirs = batches_of([]), batches_of([])
    ours.side, theirs.side = (replace(one.side, session=Answering()) for one in (ours, theirs))  # type: ignore[arg-type]
    opened = {id(ours.side): ours, id(theirs.side): theirs}
    monkeypatch.setattr(cuda_events, "LATER_CHECKS", later)
    monkeypatch.setattr(cuda_events, "_opened", lambda side: _entered(opened[id(side)]))
    looked = []

    def check(checked: Checked) -> None:
        assert checked.slot is not None
        looked.append(torch.equal(checked.slot.inputs.tensors[0], checked.inputs[0]))
        for slot in checked.others:
            slot.write([torch.full((4,), 7.0)])

    cuda_events.interleaved(ours.side, theirs.side, small_values(), SamplingBudget(seconds=0.01), check=check)
    assert len(looked) > 3 * LOOKS
    assert all(looked)


def _entered(batches: _Batches) -> AbstractContextManager[_Batches]:
    return nullcontext(batches)


def test_a_rival_without_memory_for_outputs_is_not_fetched_from_and_each_single_call_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slot, bare = slot_of(4), Slot(0, [torch.zeros(4)], [], TensorDevice())
    session, rival = Answering(), Answering()
    ours = _Batches(side=Side(session=session, slot=slot, model="plain"), slots=[slot])  # type: ignore[arg-type]
    theirs = _Batches(side=Side(session=rival, slot=bare, model="plain", trusted=True), slots=[bare])  # type: ignore[arg-type]
    monkeypatch.setattr(cuda_events, "_opened", lambda side: _entered(ours if side is ours.side else theirs))
    monkeypatch.setattr(cuda_events, "SINGLE_LOOKS", 1.0)
    looked = list[Checked]()
    samples = cuda_events.interleaved(
        ours.side, theirs.side, small_values(), SamplingBudget(seconds=0.01), check=looked.append
    )
    assert set(session.sizes) == {0, 1}
    assert len(looked) >= len(samples.candidate) - 4  # those that warm up, and those that settle a doubt
    assert not rival.fetched
    assert samples.baseline_fetch
    assert max(samples.baseline_fetch) < 1.0
