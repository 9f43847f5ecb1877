"""A cheat that an older, weaker referee had accepted is found, marked and taken back; an honest result stands."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from services.adapters.embeddings.hashing import HashingEmbedder
from services.domain.candidates import Candidate, evaluation_id
from services.domain.evaluations import Environment, EvaluationReport, EvaluationRequest, Verdict
from services.domain.experiences import Experience
from services.domain.jobs import JobSpec, JobStatus, Lease
from services.domain.problems import Problem
from services.domain.referees import REFEREE_VERSION
from services.domain.steps import Lesson, StepRecord
from services.domain.verdicts import Verification
from services.jobs.reverification import Reverification
from storage.database import Database
from storage.jobs.candidates import SqlCandidateStore
from storage.jobs.store import SqlJobStore
from storage.jobs.verdicts import SqlVerdictStore
from storage.memory.records import SqlMemoryRecords
from storage.memory.store import SqlMemory
from tests.doubles import FrozenClock, a_candidate, a_job, a_report, a_step, an_evaluation_request, an_experience
from tests.integrity.test_candidates import ROOT, explain
from tests.repeated import evaluated
from workers.evaluation.evaluator import Evaluator

pytestmark = pytest.mark.integration

TEAM = "local"
PROBLEM = Problem(name="silu_scale", source=(ROOT / "problems" / "silu_scale.txt").read_text())
PLANTED = {"honest": "honest/silu_openmp.txt", "cheat": "cheats/skips_after_warm_up.txt"}


class Past:
    """A database as a weaker referee left it: everything was accepted, and memory learned from it."""

    def __init__(self, database: Database) -> None:
        clock = FrozenClock()
        self.jobs = SqlJobStore(database, clock)
        self.candidates = SqlCandidateStore(database, clock)
        memory = SqlMemory(database, HashingEmbedder())
        self.records = SqlMemoryRecords(database, memory, HashingEmbedder().name, clock)
        self.verdicts = SqlVerdictStore(database, clock)
        self.experiences: dict[str, Experience] = {}

    async def plant(self) -> dict[str, Candidate]:
        """One solved job whose best is the cheat."""
        await self.jobs.create(a_job(spec=JobSpec(problem=PROBLEM, model="scripted")))
        lease = await self.jobs.acquire("past", 600.0)
        assert lease is not None
        sources = {name: (ROOT / file).read_text() for name, file in PLANTED.items()}
        planted = {
            name: await self._accepted(lease, step, source) for step, (name, source) in enumerate(sources.items())
        }
        await self.jobs.set_status(lease, JobStatus.SOLVED)
        return planted

    async def _accepted(self, lease: Lease, step: int, source: str) -> Candidate:
        candidate = a_candidate(step=step, source=source)
        report = a_report(median_us=100.0 - step)
        report = dataclasses.replace(report, environment=dataclasses.replace(report.environment, referee_version="1"))
        await self.candidates.add(lease, candidate)
        request = dataclasses.replace(an_evaluation_request(candidate), problem=PROBLEM)
        await self.candidates.finish(request, report)
        experience = dataclasses.replace(
            an_experience(f"exp-{step}", text=f"lesson {step}"), candidate_id=candidate.id, job_id="job-1"
        )
        self.experiences[candidate.id] = experience
        record = StepRecord(
            step=a_step(index=step),
            experiences=(experience,),
            best_candidate_id=candidate.id,
            lesson=Lesson(report=report, family="pointwise", site="cpu/g++", holdout=False),
        )
        assert await self.jobs.record_step(lease, record)
        return candidate


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(f"sqlite:///{tmp_path}/past.db")


def today(evaluator: Evaluator, device: str, backend: str) -> Environment | None:
    return evaluator.environment(backend) if device == "cpu" else None


async def test_a_cheat_that_a_weaker_referee_accepted_is_found_and_taken_back(
    database: Database, evaluator: Evaluator
) -> None:
    await database.upgrade()
    past = Past(database)
    planted = await past.plant()
    assert (await past.candidates.get(TEAM, planted["honest"].id)).is_unproven
    service = Reverification(past.verdicts, past.records, lambda device, backend: today(evaluator, device, backend))
    reports: dict[str, EvaluationReport] = {}

    def judge(request: EvaluationRequest) -> EvaluationReport:
        reports[request.candidate_id] = evaluated(evaluator, request)
        return reports[request.candidate_id]

    found, elsewhere = await service.outdated(TEAM)
    assert (len(found), elsewhere) == (2, 0)
    assert f"referee 1, now {REFEREE_VERSION}" in found[0].why
    done: dict[str, Verification] = {}
    for item in found:
        verification = await service.verify(item.stored, judge)
        done[verification.candidate_id] = verification

    honest, cheat = planted["honest"], planted["cheat"]
    assert done[honest.id].holds, explain(reports[honest.id])
    assert done[cheat.id].verdict is Verdict.REJECTED
    assert done[cheat.id].retracted == (past.experiences[cheat.id].id,)
    stored = await past.candidates.report(evaluation_id(cheat.id))
    assert stored == reports[cheat.id]
    job = await past.jobs.get(TEAM, "job-1")
    assert (job.best_candidate_id, job.status) == (honest.id, JobStatus.SOLVED)
    assert not (await past.candidates.get(TEAM, honest.id)).is_unproven
    assert await past.records.retracted(TEAM) == (past.experiences[cheat.id].id,)
    assert [action.actor for action in await past.records.audit(TEAM)] == ["reverify"]
    assert (await service.outdated(TEAM))[0] == []
    await database.close()


async def test_a_machine_that_fails_takes_nothing_back(database: Database, evaluator: Evaluator) -> None:
    await database.upgrade()
    past = Past(database)
    planted = await past.plant()
    service = Reverification(past.verdicts, past.records, lambda device, backend: today(evaluator, device, backend))
    for item in (await service.outdated(TEAM))[0]:
        verification = await service.verify(item.stored, lambda _request: a_report(Verdict.INFRASTRUCTURE_ERROR))
        assert not verification.is_verdict
    assert len((await service.outdated(TEAM))[0]) == 2
    assert (await past.jobs.get(TEAM, "job-1")).best_candidate_id == planted["cheat"].id
    assert await past.records.retracted(TEAM) == ()
    await database.close()


async def test_results_of_devices_that_are_not_here_are_counted_and_left(database: Database) -> None:
    await database.upgrade()
    past = Past(database)
    await past.plant()
    service = Reverification(past.verdicts, past.records, lambda _device, _backend: None)
    assert await service.outdated(TEAM) == ([], 2)
    assert await service.outdated(TEAM, job_id="job-1") == ([], 2)
    assert await service.outdated(TEAM, job_id="job-2") == ([], 0)
    await database.close()
