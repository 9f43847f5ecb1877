"""The audit log in memory and on both kinds of database."""

from __future__ import annotations

import pytest

from services.ports.teams import AuditLog
from tests.contracts.conftest import Stores
from tests.doubles import FrozenClock


@pytest.fixture
def log(stores: Stores) -> AuditLog:
    return stores.audit


async def test_a_teams_entries_are_read_latest_first_and_by_pages(log: AuditLog) -> None:
    for number in range(4):
        await log.append("red", "user:ann", "submit_job", f"job-{number}", "by hand")
        await log.append("blue", "user:bob", "cancel_job")

    first = await log.read("red", limit=3)
    rest = await log.read("red", before=first[-1].id)

    assert [entry.subject for entry in (*first, *rest)] == ["job-3", "job-2", "job-1", "job-0"]
    assert {(entry.team_id, entry.actor, entry.action, entry.detail) for entry in (*first, *rest)} == {
        ("red", "user:ann", "submit_job", "by hand")
    }
    assert [entry.id for entry in first] == sorted((entry.id for entry in first), reverse=True)
    assert first[0].at == FrozenClock().now()


async def test_a_team_without_entries_has_none(log: AuditLog) -> None:
    await log.append("red", "user:ann", "submit_job")
    assert await log.read("blue") == ()
