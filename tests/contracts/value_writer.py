"""Steps that teach something, written as an orchestrator would; runs in processes of their own too."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

from services.domain.candidates import candidate_id
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.experiences import ExperienceKind, ExperienceUse, experience_id
from services.domain.jobs import LOCAL_TEAM, Lease
from services.domain.referees import CURRENT
from services.domain.steps import Lesson, StepRecord
from storage.database import Database
from storage.jobs.store import SqlJobStore
from tests.doubles import FrozenClock, a_candidate, a_job, a_report, a_step, an_experience

SHARED = tuple(f"exp-shared-{number}" for number in range(12))
"""Experiences that all jobs use."""
FAMILIES = ("norm", "softmax")


def a_record(
    job_id: str,
    index: int,
    *,
    verdict: Verdict = Verdict.ACCEPTED,
    median_us: float = 100.0,
    used: tuple[str, ...] = (),
    start: int | None = None,
    family: str = "norm",
    holdout: bool = False,
    team_id: str = LOCAL_TEAM,
) -> StepRecord:
    """A step with its lesson; an accepted one leaves its trace, which `start` of a later step refers to."""
    report: EvaluationReport = a_report(verdict, median_us=median_us)
    candidate = a_candidate(job_id, index)
    step = replace(
        a_step(job_id, index, verdict=verdict, team_id=team_id),
        experiences_used=used,
        start_point=None if start is None else candidate_id(job_id, start),
    )
    trace = replace(
        an_experience(experience_id(candidate.id, ExperienceKind.TRACE), text=f"{job_id} {index}", team_id=team_id),
        kind=ExperienceKind.TRACE,
        candidate_id=candidate.id,
        job_id=job_id,
        family=family,
        verdict=verdict,
        referee=CURRENT,
        used=used,
    )
    return StepRecord(
        step=step,
        experiences=(trace,) if verdict is Verdict.ACCEPTED else (),
        uses=tuple(ExperienceUse(experience_id=name, similarity=0.5) for name in used),
        lesson=Lesson(report=report, family=family, site="cpu/g++ 12.2", holdout=holdout),
    )


def some_records(job_id: str, count: int, seed: int) -> list[StepRecord]:
    """A job's steps: drafts until one is accepted, then refinements of earlier ones, contexts drawn at random."""
    draw = random.Random(seed)
    accepted: list[int] = []
    records = []
    for index in range(count):
        verdict = Verdict.ACCEPTED if draw.random() < 0.4 else Verdict.REJECTED
        start = draw.choice(accepted) if accepted else None
        traces = [experience_id(candidate_id(job_id, at), ExperienceKind.TRACE) for at in accepted]
        used = tuple(draw.sample(SHARED, 3)) + tuple(draw.sample(traces, min(1, len(traces))))
        records.append(
            a_record(
                job_id,
                index,
                verdict=verdict,
                median_us=draw.uniform(20.0, 200.0),
                used=used,
                start=start,
                family=FAMILIES[seed % len(FAMILIES)],
            )
        )
        if verdict is Verdict.ACCEPTED:
            accepted.append(index)
    return records


async def opened_job(jobs: SqlJobStore, job_id: str, team_id: str = LOCAL_TEAM) -> Lease:
    """A new job under a lease."""
    await jobs.create(a_job(job_id, team_id=team_id))
    lease = await jobs.acquire("writer", 600, job_id)
    assert lease is not None
    return lease


def write(address: str, number: int, count: int) -> int:
    """One process: a job's steps, many of them written twice or three times; how many writes counted."""

    async def work() -> int:
        database = Database(address)
        jobs = SqlJobStore(database, FrozenClock())
        draw = random.Random(1000 + number)
        lease = await opened_job(jobs, f"job-{number}")
        written = 0
        for record in some_records(lease.job_id, count, number):
            attempts = draw.choice((1, 1, 2, 3))
            if draw.random() < 0.3:  # the answer is lost and the retry comes while the first is under way
                written += sum(await asyncio.gather(*(jobs.record_step(lease, record) for _ in range(attempts))))
            else:
                written += sum([await jobs.record_step(lease, record) for _ in range(attempts)])
        await database.close()
        return written

    return asyncio.run(work())
