"""Which values parameters have before each timed call, and that they get their own back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.timing import parameter_steps
from workers.referee.timing.parameter_steps import stepping

OWN = 0


class Problem:
    """A reference with one parameter, whose value is the number of the seed that is in effect."""

    def __init__(self, *, applies: bool = True, is_step: bool = True) -> None:
        self.applies = applies
        self.is_step = is_step
        self.seeds = [OWN]

    @contextlib.contextmanager
    def moved_parameters(self, seed: int) -> Iterator[bool]:
        self.seeds.append(seed)
        yield self.applies
        self.seeds.pop()

    def state(self) -> list[tuple[str, torch.Tensor]]:
        return [("weight", torch.tensor([self.seeds[-1]]))]


class Session:
    """A process whose parameter is written as the referee asks."""

    def __init__(self) -> None:
        self.held = dict[int, int]()
        self.weight = OWN
        self.dropped = False

    def hold_state(self, number: int, state: list[tuple[str, torch.Tensor]]) -> None:
        self.held[number] = int(state[0][1])

    def put_state(self, number: int) -> None:
        self.weight = self.held[number]

    def change_state(self, state: list[tuple[str, torch.Tensor]]) -> None:
        self.weight = int(state[0][1])

    def drop_states(self) -> None:
        self.dropped = True


def a_slot() -> Any:
    return SimpleNamespace(state=None)


def steps_of(
    problem: Any, sessions: list[Any], slots: list[Any], **options: Any
) -> contextlib.AbstractContextManager[Any]:
    return stepping(problem, sessions, slots, **options)


def test_each_single_call_finds_other_parameters_than_the_one_before_it_in_both_processes() -> None:
    problem, candidate, baseline, slot = Problem(), Session(), Session(), a_slot()
    with steps_of(problem, [candidate, baseline], [slot]) as steps:
        seen = []
        for _ in range(4):
            steps.step([slot])
            assert candidate.weight == baseline.weight
            seen.append(candidate.weight)
    assert seen[0] != seen[1]
    assert seen == [seen[0], seen[1]] * 2
    assert OWN not in seen


def test_each_call_of_a_batch_finds_others_than_the_call_before_it() -> None:
    slots = [a_slot() for _ in range(4)]
    with steps_of(Problem(), [Session()], slots) as steps:
        steps.take(slots)
        assert [slot.state for slot in slots] in ([0, 1, 0, 1], [1, 0, 1, 0])


def test_a_timed_call_is_judged_with_the_parameters_that_it_found() -> None:
    problem, candidate, slot = Problem(), Session(), a_slot()
    with steps_of(problem, [candidate], [slot]) as steps:
        steps.step([slot])
        found = candidate.weight
        steps.step([a_slot()])
        assert candidate.weight != found
        with steps.judging(slot):
            assert candidate.weight == problem.seeds[-1] == found
        assert problem.seeds == [OWN]


def test_in_inference_parameters_change_now_and_then_and_a_call_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, candidate, baseline, slot = Problem(is_step=False), Session(), Session(), a_slot()
    called = list[tuple[int, int]]()
    with steps_of(problem, [candidate, baseline], [slot]) as steps:
        steps.step([slot])
        steps.take([slot])
        with steps.judging(slot):
            assert candidate.weight == problem.seeds[-1] == OWN
        for share in (0.0, 1.0, 0.0, 1.0):
            monkeypatch.setattr(parameter_steps, "CHANGES", share)
            steps.now_and_then(lambda: called.append((candidate.weight, baseline.weight)))
            with steps.judging(slot):
                assert problem.seeds[-1] == candidate.weight
        assert slot.state is None
    assert [own for own, _ in called] == [own for _, own in called]
    assert len({OWN, *(own for own, _ in called)}) == 3
    assert candidate.weight == OWN


def test_nothing_changes_where_the_reference_is_not_fit_for_other_parameters() -> None:
    problem, seen = Problem(is_step=False), list[int]()

    def is_fit() -> bool:
        seen.append(problem.seeds[-1])
        return False

    with steps_of(problem, [Session()], [a_slot()], is_fit=is_fit) as steps:
        assert not steps.has_any
    assert len(seen) == 1
    assert OWN not in seen


def test_in_a_training_nothing_changes_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameter_steps, "CHANGES", 1.0)
    with steps_of(Problem(), [candidate := Session()], [a_slot()]) as steps:
        steps.now_and_then(lambda: pytest.fail("nothing has changed"))
    assert candidate.weight == OWN


def test_parameters_have_their_own_values_afterwards() -> None:
    candidate, slot = Session(), a_slot()
    with steps_of(Problem(), [candidate], [slot]) as steps:
        steps.step([slot])
    assert candidate.weight == OWN
    assert candidate.dropped
    assert slot.state is None


def test_parameters_have_their_own_values_after_a_candidate_that_raised() -> None:
    candidate, slot = Session(), a_slot()
    steps = steps_of(Problem(), [candidate], [slot])
    steps.__enter__().step([slot])
    assert candidate.weight != OWN
    fault = RunnerFault(FaultKind.RAISED, "it refused")
    assert not steps.__exit__(RunnerFault, fault, None)
    assert candidate.weight == OWN


def test_nothing_changes_where_there_are_no_parameters_or_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for problem in (Problem(applies=False), Problem()):
        slot, candidate = a_slot(), Session()
        with steps_of(problem, [candidate], [slot]) as steps:
            steps.step([slot])
            steps.take([slot])
            with steps.judging(slot):
                assert problem.seeds == [OWN]
        assert not steps.has_any
        assert candidate.weight == OWN
        assert slot.state is None
        monkeypatch.setattr(parameter_steps, "MOST_BYTES", 7)
