"""Whose job goes next, and what is wanted of those that run: promises of every `JobStore`."""

from __future__ import annotations

from dataclasses import replace

from services.domain.jobs import JobSpec
from tests.contracts.conftest import Stores
from tests.doubles import a_job, a_problem


async def waiting(stores: Stores, job_id: str, team: str = "local", priority: int = 0) -> None:
    stores.clock.advance(1)
    spec = JobSpec(problem=a_problem(), priority=priority)
    await stores.jobs.create(replace(a_job(job_id, spec=spec), team_id=team, created_at=stores.clock.now()))


async def taken(stores: Stores, count: int, *, team_cap: int | None = None) -> list[str]:
    """The jobs that one orchestrator gets, in order."""
    leases = []
    for _ in range(count):
        stores.clock.advance(0.001)
        leases.append(await stores.jobs.acquire("one", 60, team_cap=team_cap))
    return [lease.job_id for lease in leases if lease is not None]


async def test_a_team_with_few_jobs_does_not_wait_behind_one_with_many(stores: Stores) -> None:
    for number in range(4):
        await waiting(stores, f"many-{number}", "a-large-team")
    await waiting(stores, "few-0", "b-small-team")
    await waiting(stores, "few-1", "b-small-team")
    assert await taken(stores, 6) == ["many-0", "few-0", "many-1", "few-1", "many-2", "many-3"]


async def test_teams_take_turns_where_jobs_run_one_at_a_time(stores: Stores) -> None:
    for number in range(3):
        await waiting(stores, f"a-{number}", "a")
        await waiting(stores, f"b-{number}", "b")
    order = []
    for _ in range(6):
        stores.clock.advance(1)
        lease = await stores.jobs.acquire("one", 60)
        assert lease is not None
        order.append(lease.job_id)
        await stores.jobs.request(lease.team_id, lease.job_id, "pause")
        await stores.jobs.release(lease)
    assert [job.partition("-")[0] for job in order] in (["a", "b"] * 3, ["b", "a"] * 3)


async def test_a_team_of_twice_the_weight_runs_twice_the_jobs(stores: Stores) -> None:
    for number in range(8):
        await waiting(stores, f"heavy-{number}", "heavy")
        await waiting(stores, f"light-{number}", "light")
    await stores.teams.set_weight("heavy", 2.0, "cli:root")
    started = [job.partition("-")[0] for job in await taken(stores, 9)]
    assert (started.count("heavy"), started.count("light")) == (6, 3)


async def test_priority_orders_a_teams_own_jobs_and_no_other_teams(stores: Stores) -> None:
    await waiting(stores, "old", "a")
    await waiting(stores, "urgent", "a", priority=10)
    await waiting(stores, "later", "a", priority=-10)
    await waiting(stores, "modest", "b", priority=-100)
    order = await taken(stores, 4)
    assert [job for job in order if job != "modest"] == ["urgent", "old", "later"]
    assert order.index("modest") <= 1


async def test_a_team_at_its_cap_gets_nothing_more_until_a_job_is_let_go(stores: Stores) -> None:
    for number in range(3):
        await waiting(stores, f"a-{number}", "a")
    await waiting(stores, "b-0", "b")
    assert sorted(await taken(stores, 5, team_cap=2)) == ["a-0", "a-1", "b-0"]
    held = await stores.jobs.holder("a-0")
    assert held is not None
    await stores.jobs.release(held)
    assert await taken(stores, 2, team_cap=2) == ["a-0"]


async def test_the_control_flags_of_all_held_jobs_come_at_once(stores: Stores) -> None:
    for number in range(3):
        await waiting(stores, f"job-{number}")
    mine = [await stores.jobs.acquire("one", 60) for _ in range(2)]
    await stores.jobs.acquire("two", 60)
    await stores.jobs.request("local", "job-1", "cancel")
    control_flags = await stores.jobs.control_flags("one")
    assert sorted(control_flags) == ["job-0", "job-1"]
    assert [control_flags[lease.job_id].token for lease in mine if lease] == [lease.token for lease in mine if lease]
    assert (control_flags["job-0"].cancel_requested, control_flags["job-1"].cancel_requested) == (False, True)
    assert await stores.jobs.control_flags("nobody") == {}


async def test_a_job_that_another_orchestrator_took_has_no_control_flags_any_more(stores: Stores) -> None:
    await waiting(stores, "job-1")
    await stores.jobs.acquire("one", 30)
    stores.clock.advance(31)
    await stores.jobs.acquire("two", 30)
    assert await stores.jobs.control_flags("one") == {}
    assert list(await stores.jobs.control_flags("two")) == ["job-1"]


async def test_an_overloaded_orchestrator_does_not_take_its_own_jobs_away_from_itself(stores: Stores) -> None:
    await waiting(stores, "job-1")
    await waiting(stores, "job-2")
    lease = await stores.jobs.acquire("one", 15)
    assert lease is not None
    stores.clock.advance(20)  # too busy to renew in time
    other = await stores.jobs.acquire("one", 15, busy=("job-1",))
    assert other is not None
    assert other.job_id == "job-2"
    assert await stores.jobs.acquire("one", 15, busy=("job-1", "job-2")) is None
    assert (await stores.jobs.renew(lease, 15)).token == lease.token
