"""What every `VerdictStore` promises."""

from __future__ import annotations

import dataclasses

import pytest

from services.domain.candidates import Candidate, evaluation_id
from services.domain.evaluations import Environment, EvaluationReport, Verdict
from services.domain.gates import GateName
from services.domain.jobs import Job, JobStatus
from tests.contracts.conftest import Stores
from tests.doubles import a_candidate, a_job, a_report, an_evaluation_request

TEAM = "local"


class Books:
    """Stores with a job that has ended."""

    def __init__(self, stores: Stores) -> None:
        self.jobs, self.candidates, self.verdicts = stores.jobs, stores.candidates, stores.verdicts

    async def end_job(self, best: Candidate | None, status: JobStatus = JobStatus.SOLVED) -> Job:
        """Store a job as it is left behind."""
        job = dataclasses.replace(a_job(status=status), best_candidate_id=best.id if best else None)
        await self.jobs.create(job)
        return job

    async def judged(self, step: int, report: EvaluationReport, job_id: str = "job-1") -> Candidate:
        """Store a candidate's report."""
        candidate = a_candidate(job_id, step, source=f"class ModelNew: {step}\n")
        await self.candidates.finish(an_evaluation_request(candidate), report)
        return candidate


@pytest.fixture
def books(stores: Stores) -> Books:
    return Books(stores)


async def test_accepted_results_come_in_pages_with_their_sources_and_problems(books: Books) -> None:
    made = [await books.judged(step, a_report(), "no-job") for step in range(3)]
    await books.judged(3, a_report(Verdict.REJECTED), "no-job")
    first = await books.verdicts.accepted(TEAM, limit=2)
    rest = await books.verdicts.accepted(TEAM, after=first[-1].request.evaluation_id, limit=2)
    found = {stored.request.candidate_id: stored for stored in [*first, *rest]}
    assert set(found) == {candidate.id for candidate in made}
    assert found[made[0].id].request.source == made[0].source
    assert "torch.relu" in found[made[0].id].request.problem.source
    assert found[made[0].id].report == a_report()
    assert found[made[0].id].request.baselines == ("eager",)
    assert await books.verdicts.accepted("another team") == ()


async def test_results_of_jobs_that_still_run_are_left_alone(books: Books) -> None:
    await books.judged(0, a_report())
    await books.end_job(None, JobStatus.RUNNING)
    assert await books.verdicts.accepted(TEAM) == ()


async def test_a_result_that_holds_keeps_its_report_and_is_known_to_be_verified(books: Books) -> None:
    await books.judged(0, a_report())
    (stored,) = await books.verdicts.accepted(TEAM)
    newer = dataclasses.replace(a_report(median_us=90.0), environment=_today(stored.report))
    assert await books.verdicts.verified(stored, newer, "ada") is True
    (again,) = await books.verdicts.accepted(TEAM)
    assert again.report == stored.report
    assert again.verified.referee_version == "99"


async def test_a_result_that_does_not_hold_is_marked_and_the_next_best_takes_its_place(books: Books) -> None:
    fast = await books.judged(0, a_report(median_us=50.0))
    slow = await books.judged(1, a_report(median_us=80.0))
    slower = await books.judged(2, a_report(median_us=90.0))
    await books.end_job(fast)
    stored = {one.request.candidate_id: one for one in await books.verdicts.accepted(TEAM)}
    rejection = a_report(Verdict.REJECTED, failed_gate=GateName.INTEGRITY, detail="it cheats")
    assert await books.verdicts.verified(stored[fast.id], rejection, "ada") is True
    assert await books.candidates.report(evaluation_id(fast.id)) == rejection
    assert (await books.jobs.get(TEAM, "job-1")).best_candidate_id == slow.id
    assert await books.verdicts.verified(stored[fast.id], a_report(), "ada") is False
    for fallen in (slow, slower):
        await books.verdicts.verified(stored[fallen.id], rejection, "ada")
    job = await books.jobs.get(TEAM, "job-1")
    assert (job.best_candidate_id, job.status) == (None, JobStatus.UNSOLVED)
    assert job.message is not None
    assert "did not hold" in job.message


def _today(report: EvaluationReport) -> Environment:
    return dataclasses.replace(report.environment, referee_version="99")
