"""A small simulated fleet over a real PostgreSQL: nothing is lost, nobody starves, weights and priorities act."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import pytest

from benchmarks.fleet_plan import FleetPlan, TeamPlan
from benchmarks.fleet_shares import max_min_shares, windows
from benchmarks.fleet_simulation import Fleet
from services.domain.jobs import JobStatus
from storage.database import Database
from tests.databases import postgres_database

pytestmark = pytest.mark.integration

WORKERS = 6
PLAN = FleetPlan(
    teams=(
        TeamPlan(name="large", weight=3, jobs=110, order_s=20),
        TeamPlan(name="long", weight=1, jobs=22, order_s=60, begins_s=30),
        TeamPlan(name="short", weight=1, jobs=60, order_s=6, begins_s=60),
        TeamPlan(name="tiny", weight=1, jobs=8, order_s=15, begins_s=300),
    ),
    workers=WORKERS,
    orchestrators=3,
    concurrency=10,
    rounds=1,
    think_s=5.0,
)


@pytest.fixture
def address() -> Iterator[str]:
    with postgres_database() as address:
        yield address


@pytest.mark.full
async def test_two_hundred_jobs_of_four_teams_share_a_fleet_by_weight(address: str) -> None:
    database = Database(address)
    await database.upgrade()
    await database.close()

    record = await Fleet(PLAN, address).run()

    assert len(record.ended) == PLAN.jobs == 200
    assert set(record.ended.values()) == {JobStatus.SOLVED}
    assert len(record.uses) == PLAN.jobs * (PLAN.rounds + 1), "every order is done once"
    assert record.refused == 0
    assert most_at_once([(use.began_s, use.ended_s) for use in record.uses]) <= WORKERS

    found = windows(PLAN, record)
    assert {window.team for window in found} >= {"large", "long"}, "teams had work waiting for whole windows"
    assert [window for window in found if window.ratio < 0.5] == []

    waits = {priority: waited(record.submitted, record.started_s, priority) for priority in (10, 0, -10)}
    assert waits[10] < waits[0] < waits[-10], "urgent jobs of the large team begin first"


def waited(submitted: dict[str, tuple[str, int, float]], started_s: dict[str, float], wanted: int) -> float:
    """How long jobs of a priority waited for an orchestrator, of the team that submitted all at once."""
    found = [
        started_s[job] - since
        for job, (team, priority, since) in submitted.items()
        if team == "large" and priority == wanted
    ]
    return statistics.median(found)


def most_at_once(stretches: list[tuple[float, float]]) -> int:
    """How many stretches overlap at the busiest moment."""
    moments = sorted([(end, -1) for _, end in stretches] + [(begin, 1) for begin, _ in stretches])
    most = running = 0
    for _, change in moments:
        running += change
        most = max(most, running)
    return most


def test_fair_shares_go_by_weight_and_leave_what_nobody_asked_for_to_the_others() -> None:
    teams = tuple(
        TeamPlan(name=name, weight=weight, jobs=1, order_s=1) for name, weight in (("a", 2), ("b", 1), ("c", 1))
    )
    assert max_min_shares(teams, {"a": 10.0, "b": 10.0, "c": 20.0}, frozenset("abc")) == {
        "a": 20.0,
        "b": 10.0,
        "c": 10.0,
    }
    assert max_min_shares(teams, {"a": 10.0, "b": 26.0, "c": 4.0}, frozenset("ab")) == {"a": 24.0, "b": 12.0, "c": 4.0}
    assert max_min_shares(teams, {"a": 4.0, "b": 26.0, "c": 10.0}, frozenset("b")) == {"a": 4.0, "b": 26.0, "c": 10.0}
