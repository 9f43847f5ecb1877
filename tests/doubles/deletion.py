"""Removing a job from the stores in memory."""

from __future__ import annotations

from services.domain.deletion import Deletion
from services.domain.experiences import (
    MemoryAction,
)
from services.domain.jobs import Job
from services.domain.value_log import OutcomeEntry, RetractionEntry
from tests.doubles.database import InMemoryDatabase


def erase(database: InMemoryDatabase, job: Job, actor: str) -> Deletion:
    """Remove a job with everything that came from it; its lessons count no more."""
    candidates = [name for name, item in database.candidates.items() if item.job_id == job.id]
    evaluations = {database.evaluation_of.pop(name) for name in candidates if name in database.evaluation_of}
    steps = database.steps.pop(job.id, [])
    evaluations |= {step.evaluation_id for step in steps if step.evaluation_id is not None}
    lessons = _forget_lessons(database, job, evaluations, actor)
    judged = [database.reports.pop(name) for name in evaluations if name in database.reports]
    for name in candidates:
        del database.candidates[name]
    for name in evaluations:
        database.judged.pop(name, None)
    for step in steps:
        database.uses.pop((job.id, step.index), None)
    database.kept_calls = {key: calls for key, calls in database.kept_calls.items() if key[0] != job.id}
    database.requests = {name: item for name, item in database.requests.items() if item.job_id != job.id}
    events = database.events.pop(job.id, [])
    contents, size = _drop_artefacts(database, job.id)
    del database.jobs[job.id]
    database.leases.pop(job.id, None)
    database.deleted[job.id] = job.team_id
    line = MemoryAction(
        action="delete", subject=job.id, reason=f"{lessons} experiences", actor=actor, at=database.clock.now()
    )
    database.audits.setdefault(job.team_id, []).append(line)
    return Deletion(
        job_id=job.id,
        steps=len(steps),
        candidates=len(candidates),
        evaluations=len(judged),
        events=len(events),
        experiences=lessons,
        contents=contents,
        content_bytes=size,
    )


def _forget_lessons(database: InMemoryDatabase, job: Job, evaluations: set[str], actor: str) -> int:
    log = database.logs.get(job.team_id, [])
    retracted = {entry.evaluation_id for entry in log if isinstance(entry, RetractionEntry)}
    taught = [entry.evaluation_id for entry in log if isinstance(entry, OutcomeEntry)]
    for evaluation in [name for name in taught if name in evaluations and name not in retracted]:
        reason = f"job {job.id} was deleted"
        log.append(RetractionEntry(seq=len(log) + 1, evaluation_id=evaluation, reason=reason, actor=actor))
    going = [name for name, item in database.experiences.items() if item.job_id == job.id]
    for name in going:
        del database.experiences[name]
        database.states.pop(name, None)
        database.vectors.pop(name, None)
    return len(going)


def _drop_artefacts(database: InMemoryDatabase, job_id: str) -> tuple[int, int]:
    """Artefacts that were kept for this job only: how many, and how large."""
    count = size = 0
    for key, owners in list(database.artefact_owners.items()):
        owners.discard(job_id)
        if not owners:
            del database.artefact_owners[key]
            size += len(database.artefacts.pop(key, b""))
            count += 1
    return count, size
