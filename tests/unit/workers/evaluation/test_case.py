"""A case keeps its referee only while every conversation with it ends well."""

from __future__ import annotations

from typing import cast

import pytest

from services.domain.errors import InfrastructureError
from services.domain.measurements import Baselines
from services.domain.validations import ProblemRefusal
from workers.evaluation.case import Case, answer_in
from workers.evaluation.referee_process import RefereeProcess
from workers.referee.boundary.requests import BaselinesMeasured, CandidateDrafted, RequestFailed, RequestRefused


class Referee:
    """Knows whether it was ended."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


def case_with(referee: Referee) -> Case:
    return Case(job_id="job", process=cast("RefereeProcess", referee))


def test_a_broken_conversation_ends_the_referee() -> None:
    referee = Referee()
    case = case_with(referee)
    with pytest.raises(InfrastructureError, match="gone"), case.conversation():
        raise InfrastructureError("the referee is gone")
    assert referee.closed
    assert case.process is None


def test_a_conversation_that_ended_well_leaves_the_referee_for_the_next() -> None:
    referee = Referee()
    case = case_with(referee)
    with case.conversation() as held:
        assert held is case.process
    assert not referee.closed
    assert case.process is not None


def test_a_reply_is_what_was_asked_for_a_refusal_or_an_error() -> None:
    refusal = ProblemRefusal(reason="no forward", remedy="write one")
    measured = BaselinesMeasured(baselines=Baselines())
    assert answer_in(measured, BaselinesMeasured) is measured
    assert answer_in(RequestRefused(refusal=refusal), BaselinesMeasured) == refusal
    with pytest.raises(InfrastructureError, match="no memory"):
        answer_in(RequestFailed(reason="no memory"), BaselinesMeasured)
    with pytest.raises(InfrastructureError, match="something else"):
        answer_in(measured, CandidateDrafted)


def test_what_candidates_and_problems_wrote_is_made_visible() -> None:
    refusal = ProblemRefusal(reason="Model raised ValueError: \x1b[2J\u202e", remedy="write one")
    found = answer_in(RequestRefused(refusal=refusal), BaselinesMeasured)
    assert isinstance(found, ProblemRefusal)
    assert found.reason == r"Model raised ValueError: \x1b[2J\u202e"
