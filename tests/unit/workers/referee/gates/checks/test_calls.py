"""A candidate's process is given the memory of many single calls, and keeps that of none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.unit.workers.referee.boundary.test_runner_client import against, frozen, honest, loaded, open_blocks  # noqa: F401 - a fixture
from tests.unit.workers.referee.trials import a_reference, a_trial
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.comparison.judgement import number_of
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, tolerances
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.gates.checks.calls import try_values

WEIGHT = torch.arange(4.0)


def trial_of(session: RunnerSession) -> Any:
    """The session's candidate multiplies by `WEIGHT`."""
    problem = SimpleNamespace(tolerances=tolerances(None), gradient_names=(), is_step=False)
    state = a_reference(
        problem=problem,
        aliases=frozenset(),
        shares=frozenset(),
        mutates=frozenset(),
        scales=lambda *_given: (ErrorScale(),),
        known_scales=lambda *_given: (ErrorScale(),),
        scales_on=lambda *_given: None,
        with_line_errors=lambda scales, *_given: scales,
        otherwise_rounded=lambda *_given: [],
    )
    return a_trial(state=state, session=session)


@pytest.mark.usefixtures("frozen")
def test_neither_calls_that_are_right_nor_wrong_ones_nor_refusals_leave_memory_behind() -> None:
    with against(honest) as session:
        assert loaded(session, [("weight", WEIGHT)])
        trial, before = trial_of(session), open_blocks()
        for number in range(3):
            x = torch.rand(3 + number, 4)
            assert try_values(trial, [x], number, "here", expected=Answer.of(x * WEIGHT)) is None
            wrong = try_values(trial, [x], number, "here", expected=Answer.of(x * WEIGHT + 1.0))
            assert wrong is not None
            with pytest.raises(RunnerFault) as caught:
                try_values(trial, [torch.rand(3, 5)], number, "here", expected=Answer.of(x))
            assert caught.value.kind is FaultKind.RAISED
        del caught
        session.noop()
        assert len(open_blocks() - before) <= 4  # those of the slot that the last exception came through


@pytest.mark.parametrize(("said", "number"), [("output 1", 0), ("output 7", None), ("output ²", None), ("it", None)])
def test_what_a_candidate_says_of_shared_memory_is_read_as_far_as_it_makes_sense(said: str, number: int | None) -> None:
    assert number_of(said, [1, 0]) == number
