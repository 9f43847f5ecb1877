"""What second opinions and measurements do to stored reports, in every implementation: stricter, wider, not milder."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.jobs import Lease
from services.domain.steps import StepRecord
from tests.contracts.conftest import Stores
from tests.doubles import a_candidate, a_job, a_report, a_step, an_evaluation_request

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
    assert await stores.jobs.record_step(lease, StepRecord(step=step, revised={evaluation: DOUBTED}))
    assert await stores.candidates.report(evaluation) == DOUBTED
    found = await stores.candidates.get("local", a_candidate().id)
    assert found.report == DOUBTED


@pytest.mark.parametrize("verdict", [Verdict.REJECTED, Verdict.SUSPICIOUS, Verdict.INFRASTRUCTURE_ERROR])
async def test_no_opinion_touches_a_verdict_that_is_strict_already(stores: Stores, verdict: Verdict) -> None:
    lease, evaluation = await judged(stores, a_report(verdict))
    step = a_step(verdict=verdict)
    await stores.jobs.record_step(lease, StepRecord(step=step, revised={evaluation: a_report(Verdict.ACCEPTED)}))
    assert await stores.candidates.report(evaluation) == a_report(verdict)


async def test_an_opinion_on_a_step_that_is_recorded_changes_nothing_any_more(stores: Stores) -> None:
    lease, evaluation = await judged(stores, a_report(Verdict.ACCEPTED))
    step = a_step(verdict=Verdict.ACCEPTED)
    assert await stores.jobs.record_step(lease, StepRecord(step=step))
    assert not await stores.jobs.record_step(lease, StepRecord(step=step, revised={evaluation: DOUBTED}))
    assert await stores.candidates.report(evaluation) == a_report(Verdict.ACCEPTED)


async def test_a_second_measurement_widens_the_first_ones_interval_too(stores: Stores) -> None:
    lease, first = await judged(stores, a_report(Verdict.ACCEPTED))
    await stores.jobs.record_step(lease, StepRecord(step=a_step(verdict=Verdict.ACCEPTED)))
    wide = a_report(Verdict.ACCEPTED, median_us=390.0)
    again = replace(a_candidate(), id="cand-again", step=1)
    await stores.candidates.add(lease, again)
    request = an_evaluation_request(again)
    assert await stores.candidates.finish(request, a_report(Verdict.ACCEPTED))
    second = request.evaluation_id
    step = replace(a_step(verdict=Verdict.ACCEPTED), index=1, candidate_id=again.id, evaluation_id=second)
    assert await stores.jobs.record_step(lease, StepRecord(step=step, revised={first: wide, second: wide}))
    assert await stores.candidates.report(first) == wide
    assert await stores.candidates.report(second) == wide
