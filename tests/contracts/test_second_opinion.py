"""What a recorded second opinion does to the stored verdict, in every implementation: stricter, never milder."""

from __future__ import annotations

import pytest

from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.jobs import Lease
from services.domain.steps import StepRecord
from services.testing import a_candidate, a_job, a_report, a_step, an_evaluation_request
from tests.contracts.conftest import Stores

DOUBTED = a_report(Verdict.SUSPICIOUS, detail="second opinion of the Judge: keeps its result")


async def judged(stores: Stores, report: EvaluationReport) -> tuple[Lease, str]:
    """A leased job whose first candidate has this report; the evaluation's id."""
    await stores.jobs.create(a_job())
    lease = await stores.jobs.acquire("one", 30, "job-1")
    assert lease is not None
    candidate = a_candidate()
    await stores.candidates.add(lease, candidate)
    request = an_evaluation_request(candidate)
    assert await stores.candidates.finish(request, report)
    return lease, request.evaluation_id


async def test_a_doubt_takes_the_accepted_reports_place_with_the_step(stores: Stores) -> None:
    lease, evaluation = await judged(stores, a_report(Verdict.ACCEPTED))
    step = a_step(verdict=Verdict.SUSPICIOUS)
    assert await stores.jobs.record_step(lease, StepRecord(step=step, stricter=DOUBTED))
    assert await stores.candidates.report(evaluation) == DOUBTED
    found = await stores.candidates.get("local", a_candidate().id)
    assert found.report == DOUBTED


@pytest.mark.parametrize("verdict", [Verdict.REJECTED, Verdict.SUSPICIOUS, Verdict.INFRASTRUCTURE_ERROR])
async def test_no_opinion_touches_a_verdict_that_is_strict_already(stores: Stores, verdict: Verdict) -> None:
    lease, evaluation = await judged(stores, a_report(verdict))
    step = a_step(verdict=verdict)
    await stores.jobs.record_step(lease, StepRecord(step=step, stricter=a_report(Verdict.ACCEPTED)))
    assert await stores.candidates.report(evaluation) == a_report(verdict)


async def test_an_opinion_on_a_step_that_is_recorded_changes_nothing_any_more(stores: Stores) -> None:
    lease, evaluation = await judged(stores, a_report(Verdict.ACCEPTED))
    step = a_step(verdict=Verdict.ACCEPTED)
    assert await stores.jobs.record_step(lease, StepRecord(step=step))
    assert not await stores.jobs.record_step(lease, StepRecord(step=step, stricter=DOUBTED))
    assert await stores.candidates.report(evaluation) == a_report(Verdict.ACCEPTED)
