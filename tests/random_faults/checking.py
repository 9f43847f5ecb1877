"""What must be true of an installation, whatever happened to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from langchain_core.runnables import RunnableConfig

from services.domain.events import EventKind
from services.domain.jobs import Job, JobStatus
from services.domain.value_log import OutcomeEntry
from tests.random_faults.running import ROUNDS, Ground

CALLS = 7
"""Of the model, for a job of two rounds to which nothing happens."""


def violations(ground: Ground) -> list[str]:
    """What is not as it must be, in words."""
    found = [text for job in ground.database.jobs.values() for text in _of_job(ground, job)]
    return found + list(_of_memory(ground)) + list(_of_budgets(ground))


def _of_job(ground: Ground, job: Job) -> Iterator[str]:
    database = ground.database
    if job.status is not JobStatus.SOLVED:
        yield f"lost: {job.id} is {job.status}: {job.message}"
        return
    indices = [step.index for step in database.steps[job.id]]
    if indices != list(range(ROUNDS)):
        yield f"doubled or lost: {job.id} has the steps {indices}"
    if database.held(job.id):
        yield f"held: {job.id} has a lease after its end"
    thread: RunnableConfig = {"configurable": {"thread_id": job.id, "checkpoint_ns": ""}}
    if ground.saver.get_tuple(thread) is not None:
        yield f"left over: {job.id} has a checkpoint after its end"
    tokens = ground.jobs.tokens.get(job.id, [])
    if tokens != sorted(tokens):
        yield f"not fenced: steps of {job.id} were written under the tokens {tokens}"
    events = database.events[job.id]
    if [event.seq for event in events] != list(range(1, len(events) + 1)):
        yield f"events of {job.id} have gaps"
    if sum(event.kind is EventKind.JOB_FINISHED for event in events) != 1:
        yield f"the end of {job.id} was not told once"
    candidates = [item for item in database.candidates.values() if item.job_id == job.id]
    if len(candidates) != ROUNDS or {item.id for item in candidates} - set(database.evaluation_of):
        yield f"{job.id} has {len(candidates)} candidates, not {ROUNDS} with a report each"


def _of_memory(ground: Ground) -> Iterator[str]:
    database = ground.database
    for team_id, log in database.logs.items():
        if [entry.seq for entry in log] != list(range(1, len(log) + 1)):
            yield f"the value log of {team_id} has gaps"
        outcomes = Counter(entry.evaluation_id for entry in log if isinstance(entry, OutcomeEntry))
        if set(outcomes.values()) - {1}:
            yield f"the value log of {team_id} has an outcome twice: {outcomes}"
        steps = {step.evaluation_id for all_of in database.steps.values() for step in all_of if step.team_id == team_id}
        if set(outcomes) - steps:
            yield f"the value log of {team_id} knows evaluations of no step"
    for item in database.experiences.values():
        if item.candidate_id is not None and item.candidate_id not in database.candidates:
            yield f"experience {item.id} is about a candidate that is not there"


def _of_budgets(ground: Ground) -> Iterator[str]:
    ids = Counter(request.evaluation_id for request in ground.queue.evaluated)
    if doubled := [name for name, count in ids.items() if count > 1]:
        yield f"doubled: evaluated more than once: {doubled}"
    if len(ids) > ROUNDS * len(ground.database.jobs):
        yield f"over budget: {len(ids)} evaluations"
    allowed = CALLS * len(ground.database.jobs) + len(ground.database.jobs) * sum(ground.happened.values())
    if len(ground.model.requests) > allowed:
        yield f"over budget: {len(ground.model.requests)} model calls, where faults explain {allowed}"
