"""Deleting a job takes all that came from it and nothing else, once, beside whoever writes at the same time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Column, func, select

from services.domain.candidates import candidate_id, evaluation_id
from services.domain.chat import AgentRole, ChatMessage
from services.domain.deletion import Expired, Retention
from services.domain.errors import ConflictError, DeletedError, NotFoundError
from services.domain.events import EventKind
from services.domain.jobs import JobStatus, Lease, Stage
from services.domain.steps import ModelCall
from services.domain.usage import Usage
from services.domain.value_log import OutcomeEntry, RetractionEntry
from storage.contents.files import Directory
from storage.contents.references import REFERENCES
from storage.database import Database
from storage.jobs.retention import NO_REPLY, RetentionRounds
from storage.tables import blobs, deleted_jobs, doomed_files, metadata
from tests.contracts.conftest import Stores, sql_stores
from tests.contracts.value_writer import a_record
from tests.doubles import FrozenClock, a_candidate, a_job, a_report, an_evaluation_request

LARGE = b"large " * 20_000


async def ended_job(stores: Stores, job_id: str, *, team_id: str = "local", steps: int = 2) -> Lease:
    """A job with steps, candidates, reports, lessons, events and artefacts of its own."""
    await stores.jobs.create(a_job(job_id, team_id=team_id))
    lease = await stores.jobs.acquire("one", 600, job_id)
    assert lease is not None
    for index in range(steps):
        candidate = replace(a_candidate(job_id, index), team_id=team_id, source=f"# kernel {job_id} {index}")
        await stores.candidates.add(lease, candidate)
        await stores.candidates.finish(an_evaluation_request(candidate), a_report())
        await stores.jobs.record_step(lease, a_record(job_id, index, used=("exp-shared",), team_id=team_id))
    await stores.artefacts.put(team_id, f"kept by {job_id}".encode(), job_id=job_id)
    await stores.artefacts.put(team_id, b"kept by every job", job_id=job_id)
    await stores.jobs.set_status(lease, JobStatus.SOLVED)
    await stores.jobs.release(lease)
    return lease


async def test_a_deleted_job_leaves_nothing_but_that_it_was_there(stores: Stores) -> None:
    await ended_job(stores, "job-a")
    deletion = await stores.jobs.delete("local", "job-a", "ada")
    assert (deletion.steps, deletion.candidates, deletion.evaluations, deletion.experiences) == (2, 2, 2, 2)
    assert deletion.events > 0
    assert deletion.contents > 0
    with pytest.raises(DeletedError, match="job-a was deleted"):
        await stores.jobs.get("local", "job-a")
    with pytest.raises(DeletedError):
        await stores.jobs.steps("local", "job-a")
    with pytest.raises(NotFoundError):
        await stores.candidates.get("local", candidate_id("job-a", 0))
    assert await stores.events.read("job-a") == ()
    assert (await stores.jobs.list("local")).jobs == ()


async def test_its_lessons_count_no_more_and_other_jobs_are_untouched(stores: Stores) -> None:
    await ended_job(stores, "job-a")
    await ended_job(stores, "job-b")
    await stores.jobs.delete("local", "job-a", "ada")
    log = await stores.records.log("local")
    retracted = {entry.evaluation_id for entry in log if isinstance(entry, RetractionEntry)}
    assert retracted == {evaluation_id(candidate_id("job-a", index)) for index in range(2)}
    assert [entry.seq for entry in log] == list(range(1, len(log) + 1))
    values = await stores.records.values("local")
    counted = [e for e in log if isinstance(e, OutcomeEntry) and e.evaluation_id not in retracted]
    assert values.visits(Stage.DRAFT, "exp-shared") + values.visits(Stage.REFINE, "exp-shared") == len(counted) == 2
    assert {item.job_id for item in await stores.records.outline("local")} == {"job-b"}
    assert len(await stores.candidates.list("local", "job-b")) == 2
    assert (await stores.candidates.get("local", candidate_id("job-b", 1))).candidate.source == "# kernel job-b 1"
    (action,) = await stores.records.audit("local")
    assert (action.action, action.subject, action.actor) == ("delete", "job-a", "ada")


async def test_contents_that_another_job_uses_stay(stores: Stores) -> None:
    await ended_job(stores, "job-a")
    await ended_job(stores, "job-b")
    await stores.jobs.delete("local", "job-a", "ada")
    key = await stores.artefacts.put("local", b"kept by every job")
    assert await stores.artefacts.get("local", key) == b"kept by every job"
    assert (await stores.jobs.get("local", "job-b")).spec.problem.source == a_job("job-b").spec.problem.source


async def test_a_job_that_goes_on_is_not_deleted(stores: Stores) -> None:
    await stores.jobs.create(a_job("job-a"))
    with pytest.raises(ConflictError, match="job job-a is queued: cancel it"):
        await stores.jobs.delete("local", "job-a", "ada")
    lease = await stores.jobs.acquire("one", 600, "job-a")
    assert lease is not None
    await stores.jobs.set_status(lease, JobStatus.RUNNING)
    with pytest.raises(ConflictError, match="is running"):
        await stores.jobs.delete("local", "job-a", "ada")
    assert (await stores.jobs.get("local", "job-a")).status is JobStatus.RUNNING


async def test_a_job_is_deleted_once_and_only_by_its_team(stores: Stores) -> None:
    await ended_job(stores, "job-a")
    with pytest.raises(NotFoundError, match="no job job-a"):
        await stores.jobs.delete("others", "job-a", "eve")
    answers = await asyncio.gather(
        *(stores.jobs.delete("local", "job-a", "ada") for _ in range(4)), return_exceptions=True
    )
    assert len([answer for answer in answers if not isinstance(answer, BaseException)]) == 1
    assert len([answer for answer in answers if isinstance(answer, DeletedError)]) == 3
    with pytest.raises(NotFoundError) as refused:
        await stores.jobs.get("others", "job-a")
    assert not isinstance(refused.value, DeletedError), "another team does not learn that it was there"


async def test_no_content_is_left_that_nothing_refers_to(database: Database, tmp_path: Path) -> None:
    stores = sql_stores(database, tmp_path)
    before = await held(database)
    await ended_job(stores, "job-a")
    assert len(await held(database)) > len(before)
    await stores.jobs.delete("local", "job-a", "ada")
    assert await held(database) == before
    for table in metadata.sorted_tables:
        if "job_id" in table.c:
            query = select(func.count()).where(table.c.job_id == "job-a")
            assert await database.read(lambda c, q=query: c.execute(q).scalar_one()) == 0, table.name  # type: ignore[misc]


async def test_contents_that_are_kept_beside_a_deletion_survive_it(address: str, tmp_path: Path) -> None:
    first, second = Database(address), Database(address)
    deleting, keeping = sql_stores(first, tmp_path), sql_stores(second, tmp_path)
    for number in range(10):
        await ended_job(deleting, f"job-old-{number}", steps=1)

    async def delete() -> None:
        for number in range(10):
            await deleting.jobs.delete("local", f"job-old-{number}", "ada")

    async def submit() -> None:
        for number in range(40):
            await keeping.jobs.create(a_job(f"job-new-{number}"))

    await asyncio.gather(delete(), submit())
    for number in range(40):
        job = await keeping.jobs.get("local", f"job-new-{number}")
        assert job.spec.problem.source == a_job("job-x").spec.problem.source
    await first.close()
    await second.close()


async def test_files_go_after_their_rows_unless_they_are_kept_again(database: Database, tmp_path: Path) -> None:
    folder = tmp_path / "artefacts"
    stores, retention = (
        sql_stores(database, folder),
        RetentionRounds(database, FrozenClock(), Retention(), files=Directory(folder)),
    )
    for job in ("job-a", "job-b"):
        await stores.jobs.create(a_job(job))
        await stores.artefacts.put("local", LARGE + job.encode(), job_id=job)
        await stores.jobs.request("local", job, "cancel")
        await stores.jobs.delete("local", job, "ada")
    assert len(large(folder)) == 2
    key = await stores.artefacts.put("local", LARGE + b"job-b")
    assert await retention.remove_files() == 1
    assert len(large(folder)) == 1
    assert await stores.artefacts.get("local", key) == LARGE + b"job-b"
    assert await database.read(lambda c: c.execute(select(doomed_files)).all()) == []
    assert await retention.remove_files() == 0


async def test_parts_of_a_job_expire_after_their_time_and_once(database: Database, tmp_path: Path) -> None:
    stores = sql_stores(database, tmp_path)
    await told_job(stores, "job-a")
    kept = Retention(trajectories_days=10, events_days=20, artefacts_days=30)
    retention = RetentionRounds(database, stores.clock, kept)
    stores.clock.advance(timedelta(days=9).total_seconds())
    assert await retention.expire() == Expired()
    stores.clock.advance(timedelta(days=2).total_seconds())
    assert (await retention.expire()).jobs == 1
    (step,) = await stores.jobs.steps("local", "job-a")
    assert [(call.prompt, call.reply, call.usage.output_tokens) for call in step.calls] == [((), NO_REPLY, 7)]
    assert step.verdict is not None
    assert (await stores.candidates.list("local", "job-a"))[0].candidate.source
    assert await retention.expire() == Expired()
    stores.clock.advance(timedelta(days=30).total_seconds())
    await retention.expire_all()
    assert [event.kind for event in await stores.events.read("job-a")] == [EventKind.JOB_FINISHED]
    assert [event.kind async for event in stores.events.follow("job-a")] == [EventKind.JOB_FINISHED]
    assert await retention.expire() == Expired()


async def test_a_failed_job_whose_artefacts_expired_is_not_resumed(database: Database, tmp_path: Path) -> None:
    stores = sql_stores(database, tmp_path)
    await told_job(stores, "job-a", JobStatus.FAILED)
    stores.clock.advance(timedelta(days=2).total_seconds())
    await RetentionRounds(database, stores.clock, Retention(artefacts_days=1)).expire()
    with pytest.raises(ConflictError, match="has expired: submit it again"):
        await stores.jobs.reopen("local", "job-a", model="playbook", rounds=9)


async def test_nothing_expires_unless_it_is_wanted_and_jobs_that_go_on_keep_all(
    database: Database, tmp_path: Path
) -> None:
    stores = sql_stores(database, tmp_path)
    await told_job(stores, "job-a")
    await stores.jobs.create(a_job("job-b"))
    stores.clock.advance(timedelta(days=1000).total_seconds())
    assert await RetentionRounds(database, stores.clock, Retention()).expire() == Expired()
    found = await RetentionRounds(database, stores.clock, Retention(events_days=1)).expire()
    assert found.jobs == 1
    assert len(await stores.events.read("job-b")) == 1


def test_every_column_with_a_contents_hash_is_known() -> None:
    own = {blobs, doomed_files}
    found: list[Column[str]] = [
        column
        for table in metadata.sorted_tables
        for column in table.c
        if table not in own and (column.name.endswith(("_hash", "_blob")) or column.name == "hash")
    ]
    no_content = {"model_calls.prompt_hash"}
    assert {str(column) for column in found} - no_content == {str(column) for column in REFERENCES}
    assert deleted_jobs.c.keys() == ["id", "team_id", "deleted_by", "deleted_at"]


async def told_job(stores: Stores, job_id: str, status: JobStatus = JobStatus.SOLVED) -> None:
    """An ended job with a step that holds a model call."""
    await stores.jobs.create(a_job(job_id))
    lease = await stores.jobs.acquire("one", 600, job_id)
    assert lease is not None
    candidate = a_candidate(job_id, 0)
    await stores.candidates.add(lease, candidate)
    await stores.candidates.finish(an_evaluation_request(candidate), a_report())
    record = a_record(job_id, 0)
    call = a_call()
    await stores.jobs.record_step(lease, replace(record, step=replace(record.step, calls=(call,))))
    await stores.artefacts.put("local", b"to be resumed from", job_id=job_id)
    await stores.jobs.set_status(lease, status)
    await stores.jobs.release(lease)


def a_call() -> ModelCall:
    prompt = (ChatMessage(role="user", content="make it fast"),)
    usage = Usage(calls=1, output_tokens=7)
    return ModelCall(
        role=AgentRole.CODER, model="m", prompt=prompt, prompt_hash="0", reply="done", usage=usage, seconds=1.0
    )


async def held(database: Database) -> set[str]:
    return set(await database.read(lambda connection: connection.execute(select(blobs.c.hash)).scalars().all()))


def large(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size >= len(LARGE)]
