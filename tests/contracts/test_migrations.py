"""Migrations: from every earlier version with rows in it, and what stops half way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, insert, inspect, select, text, update

from services.domain.codec import dumps
from services.domain.errors import StorageError, UserError
from services.domain.value_log import ContextItem, OutcomeEntry, RetractionEntry
from storage.database import MIGRATIONS, Database
from storage.jobs.store import SqlJobStore
from storage.memory.value_log import read_log
from storage.tables import evaluations, experiences, memory_log, teams, verifications
from tests.databases import differences, postgres_database
from tests.doubles import FrozenClock
from tests.selection import with_full

VERSIONS = [script.revision for script in ScriptDirectory(str(MIGRATIONS)).walk_revisions()][:0:-1]
"""All but the newest, oldest first."""

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "postgres"])
def empty_address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'kernelwright.db'}"
        return
    with postgres_database() as address:
        yield address


def to(version: str, connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, version)


def fill(connection: Connection) -> None:
    """A team and a queued job, in columns that the first version has."""
    moment = "2026-01-01 00:00:00+00:00" if connection.dialect.name == "postgresql" else "2026-01-01 00:00:00"
    connection.execute(text("INSERT INTO teams (id, created_at) VALUES ('local', :at)"), {"at": moment})
    content = "X'00'" if connection.dialect.name == "sqlite" else "'\\x00'"
    connection.execute(text(f"INSERT INTO blobs (team_id, hash, bytes, content) VALUES ('local', 'abc', 1, {content})"))
    spec = '{"problem": {"name": "p", "source": "", "path": "p.py", "allow_library": []}}'
    connection.execute(
        text(
            "INSERT INTO jobs (id, team_id, status, claimable, name, spec, source_hash, cancel_requested, "
            "pause_requested, created_at, updated_at) "
            "VALUES ('job-old', 'local', 'queued', true, 'p', :spec, 'abc', false, false, :at, :at)"
        ),
        {"spec": spec, "at": moment},
    )


@pytest.mark.parametrize("version", with_full(VERSIONS, [*VERSIONS[::8], VERSIONS[-1]]))
async def test_a_database_of_each_earlier_version_comes_up_to_date_with_its_rows(
    version: str, empty_address: str
) -> None:
    database = Database(empty_address)
    await database.write(lambda connection: to(version, connection))
    await database.write(fill)
    with pytest.raises(StorageError, match=r"older than this program.*kernelwright db upgrade"):
        await database.check()
    await database.upgrade()
    await database.check()
    assert await database.read(differences) == []
    jobs = SqlJobStore(database, FrozenClock())
    assert (await jobs.get("local", "job-old")).spec.priority == 0
    lease = await jobs.acquire("one", 30)
    assert lease is not None
    assert lease.job_id == "job-old"
    await database.close()


@pytest.mark.parametrize("version", [VERSIONS[0], VERSIONS[-1]])
async def test_a_database_goes_back_to_each_earlier_version_and_comes_up_again_with_its_jobs(
    version: str, empty_address: str
) -> None:
    database = Database(empty_address)
    await database.write(lambda connection: to(VERSIONS[0], connection))
    await database.write(fill)
    await database.upgrade()
    await database.downgrade(version)
    with pytest.raises(StorageError, match="older than this program"):
        await database.check()
    await database.upgrade()
    assert await database.read(differences) == []
    assert (await SqlJobStore(database, FrozenClock()).get("local", "job-old")).spec.problem.name == "p"
    await database.close()


@pytest.mark.parametrize("version", ["9999", "base", "head"])
async def test_a_version_that_is_no_earlier_one_is_refused_with_those_there_are(
    version: str, empty_address: str
) -> None:
    database = Database(empty_address)
    await database.upgrade()
    with pytest.raises(UserError, match="there are: 0001, 0002"):
        await database.downgrade(version)
    await database.check()
    await database.close()


async def test_a_migration_that_fails_half_way_leaves_the_version_before(empty_address: str) -> None:
    database = Database(empty_address)
    first = VERSIONS[0]
    await database.write(lambda connection: to(first, connection))
    await database.write(fill)
    before = await database.read(_shape)
    # Somebody made a table that a later migration makes too: it fails after it has changed others.
    await database.write(lambda connection: connection.execute(text("CREATE TABLE nodes (id TEXT)")))
    with pytest.raises(StorageError, match="nodes"):
        await database.upgrade()
    await database.write(lambda connection: connection.execute(text("DROP TABLE nodes")))
    assert await database.read(_shape) == before, "nothing of the failed upgrade is left"
    with pytest.raises(StorageError, match="older than this program"):
        await database.check()
    await database.upgrade()
    await database.check()
    await database.close()


async def test_a_half_applied_schema_is_refused_with_what_is_missing(empty_address: str) -> None:
    database = Database(empty_address)
    await database.upgrade()
    await database.write(lambda connection: connection.execute(text("DROP TABLE nodes")))
    with pytest.raises(StorageError, match=r"half-applied.*nodes.*restore"):
        await database.check()
    await database.close()


async def test_logged_outcomes_get_the_backend_of_their_evaluation_and_nothing_else_changes(empty_address: str) -> None:
    database = Database(empty_address)
    await database.write(lambda connection: to("0004", connection))
    await database.write(fill)
    outcomes = [
        an_outcome(1, "eval-cpp", context=(ContextItem(experience_id="exp-ü", similarity=0.5),), made=("exp-2",)),
        an_outcome(2, "eval-gone"),
        an_outcome(3, "eval-told", backend="cuda"),
    ]
    retraction = RetractionEntry(seq=4, evaluation_id="eval-cpp", reason="it cheats", actor="somebody")
    await database.write(lambda connection: _log(connection, [*outcomes, retraction]))
    await database.write(lambda connection: _evaluate(connection, {"eval-cpp": "cpp", "eval-told": "triton"}))
    await database.upgrade()
    found = await database.read(lambda connection: read_log(connection, "local"))
    assert found == [replace(outcomes[0], backend="cpp"), *outcomes[1:], retraction]
    await database.close()


async def test_intervals_of_speedups_are_taken_from_the_reports(empty_address: str) -> None:
    database = Database(empty_address)
    await database.write(lambda connection: to("0016", connection))
    await database.write(fill)
    reports = {"eval-1": '{"speedup":{"ci95":[1.5,{"float":"inf"}]}}', "eval-2": '{"speedup":{"ci95":null}}'}

    def judge(connection: Connection) -> None:
        _evaluate(connection, dict.fromkeys(reports, "cpp"))
        for name, report in reports.items():
            changed = update(evaluations).where(evaluations.c.id == name)
            connection.execute(changed.values(speedup=2.0, report=report))

    await database.write(judge)
    await database.upgrade()
    columns = (evaluations.c.id, evaluations.c.speedup_low, evaluations.c.speedup_high)
    found = await database.read(lambda connection: connection.execute(select(*columns).order_by("id")).all())
    assert [tuple(row) for row in found] == [("eval-1", 1.5, float("inf")), ("eval-2", None, None)]
    await database.close()


async def test_successes_that_a_trace_repeats_are_forgotten_and_readers_look_again(empty_address: str) -> None:
    database = Database(empty_address)
    await database.write(lambda connection: to("0016", connection))
    await database.write(fill)
    await database.write(lambda connection: _teach(connection, {"exp-1": "trace", "exp-2": "success"}))
    await database.upgrade()
    states = await database.read(
        lambda connection: connection.execute(select(experiences.c.id, experiences.c.state)).all()
    )
    assert dict(states) == {"exp-1": "active", "exp-2": "forgotten"}
    assert await database.read(lambda connection: connection.execute(select(teams.c.memory_epoch)).scalar_one()) == 1
    await database.close()


async def test_referees_are_taken_from_the_reports_and_the_latest_verification(empty_address: str) -> None:
    database = Database(empty_address)
    await database.write(lambda connection: to("0025", connection))
    await database.write(fill)
    versions = {"exp-1": "6", "exp-2": "none", "exp-3": "5", "exp-4": None}

    def judge(connection: Connection) -> None:
        _evaluate(connection, dict.fromkeys(versions, "cpp"))
        _teach(connection, dict.fromkeys(versions, "trace"))
        for name, version in versions.items():
            report = json.dumps({"environment": {"referee_version": version}} if version else {})
            connection.execute(update(evaluations).where(evaluations.c.id == name).values(report=report))
            taught = {"verdict": "accepted", "candidate_id": f"cand-{name}"}
            connection.execute(update(experiences).where(experiences.c.id == name).values(taught))
        for version in ("6", "7"):
            row = {
                "team_id": "local", "evaluation_id": "exp-3", "candidate_id": "cand-exp-3", "verdict": "accepted",
                "report": json.dumps({"environment": {"referee_version": version}}), "before": "{}", "actor": "ada",
                "created_at": LONG_AGO,
            }  # fmt: skip
            connection.execute(insert(verifications), row)

    await database.write(judge)
    await database.upgrade()
    for table in (evaluations, experiences):
        query = select(table.c.id, table.c.referee).where(table.c.id.in_(versions)).order_by("id")
        found = await database.read(lambda connection, query=query: connection.execute(query).all())  # type: ignore[misc]
        assert [tuple(row) for row in found] == [("exp-1", 6), ("exp-2", None), ("exp-3", 7), ("exp-4", None)]
    await database.close()


def _teach(connection: Connection, kinds: Mapping[str, str]) -> None:
    for number, (name, kind) in enumerate(kinds.items(), 1):
        row = {
            "id": name, "team_id": "local", "number": number, "content_key": name, "kind": kind, "stage": "draft",
            "family": "norm", "backend": "cpp", "device": "cpu", "toolchain": "g++", "title": "", "text": "",
            "moves": "[]", "used": "[]", "created_at": LONG_AGO,
        }  # fmt: skip
        connection.execute(insert(experiences), row)


def an_outcome(seq: int, evaluation: str, **more: Any) -> OutcomeEntry:
    return OutcomeEntry(
        seq=seq,
        evaluation_id=evaluation,
        job_id="job-old",
        step=seq,
        family="norm",
        site="cpu/g++",
        accepted=True,
        **more,
    )


def _log(connection: Connection, entries: Sequence[OutcomeEntry | RetractionEntry]) -> None:
    """Entries as programs before 0005 wrote them: without a backend where none was known."""
    for entry in entries:
        data = {name: value for name, value in json.loads(dumps(entry)).items() if (name, value) != ("backend", None)}
        kind = "outcome" if isinstance(entry, OutcomeEntry) else "retraction"
        row = {
            "team_id": "local", "seq": entry.seq, "key": f"{kind}/{entry.seq}", "kind": kind,
            "entry": json.dumps(data), "at": LONG_AGO,
        }  # fmt: skip
        connection.execute(insert(memory_log), row)


def _evaluate(connection: Connection, backends: Mapping[str, str]) -> None:
    for name, backend in backends.items():
        row = {
            "id": name, "team_id": "local", "job_id": "job-old", "candidate_id": f"cand-{name}", "device": "cpu",
            "backend": backend, "source_hash": "abc", "problem_hash": "abc", "verdict": "accepted", "report": "{}",
            "created_at": LONG_AGO,
        }  # fmt: skip
        connection.execute(insert(evaluations), row)


def _shape(connection: Connection) -> dict[str, list[str]]:
    found = inspect(connection)
    return {table: sorted(column["name"] for column in found.get_columns(table)) for table in found.get_table_names()}
