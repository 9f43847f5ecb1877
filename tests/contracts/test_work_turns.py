"""Whose order a worker takes next: promises of every `WorkStore`."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, replace

import pytest

from services.domain.jobs import JobSpec
from services.domain.nodes import Offer
from services.domain.validations import ValidationReport, ValidationRequest
from services.domain.work import CREDIT_S, WorkClaim, order_of
from services.ports.jobs import JobStore
from services.ports.teams import TeamStore
from services.ports.work import WorkStore
from tests.contracts.conftest import WORK, Stores
from tests.doubles import (
    FrozenClock,
    a_candidate,
    a_device,
    a_job,
    a_problem,
    a_report,
    an_analysis,
    an_evaluation_request,
)

pytestmark = pytest.mark.parametrize("stores", WORK, indirect=True)

OFFER = Offer(device="cpu", backends=("cpp",), evaluator="referee 1; this CPU")


@dataclass(frozen=True, kw_only=True)
class Floor:
    """One device's orders, and jobs that they belong to."""

    orders: WorkStore
    jobs: JobStore
    teams: TeamStore
    clock: FrozenClock

    async def job(self, job_id: str, team: str, priority: int = 0) -> None:
        """A job with one order."""
        self.clock.advance(0.01)
        spec = JobSpec(problem=a_problem(), priority=priority)
        await self.jobs.create(replace(a_job(job_id, spec=spec), team_id=team, created_at=self.clock.now()))
        await self.order(job_id, team)

    async def order(self, job_id: str, team: str, step: int = 0) -> None:
        """One more order of a job."""
        await self.orders.place(order_of(replace(an_evaluation_request(a_candidate(job_id, step)), team_id=team)))

    async def validation(self, job_id: str, team: str) -> None:
        """An urgent job that waits for its validation."""
        spec = JobSpec(problem=a_problem(), priority=50)
        await self.jobs.create(replace(a_job(job_id, spec=spec), team_id=team, created_at=self.clock.now()))
        request = ValidationRequest(job_id=job_id, team_id=team, problem=a_problem(), device="cpu", backend="cpp")
        await self.orders.place(order_of(request))

    async def take(self, worker: str = "one") -> WorkClaim:
        """What a worker gets."""
        claim = await self.orders.take(worker, 600, OFFER)
        assert claim is not None
        return claim

    async def done(self, seconds: float, worker: str = "one") -> tuple[str, str]:
        """Have a worker do an order; its team and job."""
        claim = await self.take(worker)
        self.clock.advance(seconds)
        checks = isinstance(claim.order.request, ValidationRequest)
        report = ValidationReport(analysis=an_analysis(), refusal=None, device=a_device()) if checks else a_report()
        assert await self.orders.finish(claim, report)
        return claim.order.request.team_id, claim.order.request.job_id


@pytest.fixture
def floor(stores: Stores) -> Floor:
    return Floor(orders=stores.orders, jobs=stores.jobs, teams=stores.teams, clock=stores.clock)


async def test_one_job_of_another_team_and_an_urgent_one_start_before_thirty_that_wait(floor: Floor) -> None:
    for number in range(31):
        await floor.job(f"a-{number:02}", "a")
    running = await floor.take()
    await floor.job("b-0", "b")
    await floor.job("a-urgent", "a", priority=100)
    floor.clock.advance(2)
    await floor.orders.finish(running, a_report())
    assert [(await floor.done(2))[1] for _ in range(4)] == ["b-0", "a-urgent", "a-01", "a-02"]


async def test_teams_with_work_waiting_share_a_device_by_seconds_and_not_by_orders(floor: Floor) -> None:
    for number in range(60):
        await floor.job(f"short-{number:02}", "short")
        await floor.job(f"long-{number:02}", "long")
    used: Counter[str] = Counter()
    while sum(used.values()) < 200:
        team = (await floor.take()).order.request.team_id
        seconds = 2 if team == "short" else 10
        await floor.done(seconds)  # the same worker's own claim comes first
        used[team] += seconds
    assert abs(used["short"] - used["long"]) <= 20


async def test_a_team_of_twice_the_weight_gets_twice_the_seconds(floor: Floor) -> None:
    for number in range(60):
        await floor.job(f"light-{number:02}", "light")
        await floor.job(f"heavy-{number:02}", "heavy")
    await floor.teams.set_weight("heavy", 2.0, "cli:root")
    used: Counter[str] = Counter()
    while sum(used.values()) < 300:
        team = (await floor.take()).order.request.team_id
        seconds = 3 if team == "light" else 5
        await floor.done(seconds)
        used[team] += seconds
    assert abs(used["heavy"] - 2 * used["light"]) <= 15


async def test_a_team_does_not_take_every_worker_that_is_free_at_once(floor: Floor) -> None:
    for number in range(6):
        await floor.job(f"a-{number}", "a")
        await floor.job(f"b-{number}", "b")
    taken = Counter([(await floor.take(f"worker-{n}")).order.request.team_id for n in range(6)])
    assert taken == {"a": 3, "b": 3}


async def test_validations_of_seconds_do_not_make_evaluations_of_minutes_cheap(floor: Floor) -> None:
    for number in range(6):
        await floor.job(f"a-{number}", "a")
    await floor.job("b-0", "b")
    for _ in range(2):
        await floor.done(100)  # what an evaluation takes is known of both teams
    for number in range(4):
        await floor.validation(f"a-urgent-{number}", "a")
    for _ in range(4):
        await floor.done(1)
    for number in range(1, 6):
        await floor.job(f"b-{number}", "b")
    taken = Counter([(await floor.take(f"worker-{n}")).order.request.team_id for n in range(5)])
    assert taken == {"a": 2, "b": 3}, "of an odd number one team gets one more: not the one that had cheap validations"


async def test_a_new_teams_first_orders_are_charged_what_others_take(floor: Floor) -> None:
    for number in range(4):
        await floor.job(f"old-{number}", "old")
    await floor.done(50)
    await floor.job("other-0", "other")
    await floor.done(40)
    await floor.done(50)
    await floor.job("other-1", "other")
    for number in range(4):
        await floor.job(f"new-{number}", "new")
    taken = [(await floor.take(f"worker-{n}")).order.request.team_id for n in range(2)]
    assert taken == ["new", "other"], "used so far: 20 (with its credit) and 40; then 65 and 40"


async def test_an_order_that_takes_longer_than_it_was_charged_counts_while_it_runs(floor: Floor) -> None:
    for number in range(8):
        for team in ("a", "b", "c"):
            await floor.job(f"{team}-{number}", team)
    for _ in range(3):
        await floor.done(10)
    slow = await floor.take("slow")
    others = {"a", "b", "c"} - {slow.order.request.team_id}
    floor.clock.advance(100)
    assert {(await floor.done(10))[0] for _ in range(10)} == others, (
        "with one worker busy, nobody is entitled to another"
    )
    assert (await floor.orders.finish(slow, a_report())) is True


async def test_a_team_that_is_far_ahead_still_gets_the_workers_that_it_is_entitled_to(floor: Floor) -> None:
    for number in range(12):
        await floor.job(f"ahead-{number:02}", "ahead")
    for _ in range(4):
        await floor.done(200)
    for number in range(12):
        await floor.job(f"new-{number:02}", "new")
    taken = Counter([(await floor.take(f"worker-{n}")).order.request.team_id for n in range(8)])
    assert taken == {"ahead": 4, "new": 4}, "by what was used alone, the new team would get all eight"


async def test_free_workers_go_by_weight(floor: Floor) -> None:
    for number in range(12):
        for team in ("heavy", "light", "other"):
            await floor.job(f"{team}-{number:02}", team)
    await floor.teams.set_weight("heavy", 2.0, "cli:root")
    taken = Counter([(await floor.take(f"worker-{n}")).order.request.team_id for n in range(12)])
    assert taken == {"heavy": 6, "light": 3, "other": 3}


async def test_what_a_team_without_waiting_work_leaves_is_divided_among_the_others(floor: Floor) -> None:
    await floor.job("large-0", "large")
    await floor.teams.set_weight("large", 8.0, "cli:root")
    for number in range(12):
        await floor.job(f"ahead-{number:02}", "ahead")
    first = [await floor.take(f"worker-{n}") for n in range(2)]
    assert {claim.order.request.team_id for claim in first} == {"large", "ahead"}
    floor.clock.advance(500)  # what the two claims take counts already
    for number in range(12):
        await floor.job(f"new-{number:02}", "new")
    taken = Counter([(await floor.take(f"next-{n}")).order.request.team_id for n in range(9)])
    assert taken == {"ahead": 4, "new": 5}, "five each: the large team's part is not kept for it"


async def test_a_silent_worker_is_not_held_and_work_for_other_backends_does_not_count(floor: Floor) -> None:
    for number in range(4):
        await floor.job(f"a-{number}", "a")
    for number in range(3):
        assert await floor.orders.take(f"silent-{number}", 1, OFFER) is not None
    floor.clock.advance(5)
    await floor.job("b-0", "b")
    await floor.jobs.create(replace(a_job("c-0"), team_id="c"))
    elsewhere = replace(an_evaluation_request(a_candidate("c-0", 0)), team_id="c", backend="triton")
    await floor.orders.place(order_of(elsewhere))
    await floor.teams.set_weight("c", 100.0, "cli:root")
    taken = [(await floor.take(f"worker-{n}")).order.request.team_id for n in range(2)]
    assert sorted(taken) == ["a", "b"]


async def test_a_team_that_asked_for_nothing_saves_up_no_more_than_a_little(floor: Floor) -> None:
    await floor.job("b-first", "b")
    await floor.done(1)
    for number in range(12):
        await floor.job(f"a-{number:02}", "a")
        await floor.done(100)
    for number in range(20):
        await floor.job(f"new-a-{number:02}", "a")
        await floor.job(f"new-b-{number:02}", "b")
    teams = [(await floor.done(20))[0] for _ in range(20)]
    assert teams[0] == "b"
    assert teams[:8].count("b") * 20 <= CREDIT_S + 100 + 20, "it may catch up with the last order, and no further"
    assert abs(teams[10:].count("a") - 5) <= 1


async def test_a_cancelled_order_costs_what_it_took(floor: Floor) -> None:
    for number in range(3):
        await floor.job(f"a-{number}", "a")
        await floor.job(f"b-{number}", "b")
    first = await floor.take()
    floor.clock.advance(50)
    await floor.orders.cancel(first.order.request.job_id)
    other = {"a": "b", "b": "a"}[first.order.request.team_id]
    assert [(await floor.done(20))[0] for _ in range(2)] == [other, other]


async def test_workers_that_ask_at_once_get_an_order_each(floor: Floor) -> None:
    for number in range(12):
        await floor.job(f"job-{number:02}", f"team-{number % 3}")
    claims = await asyncio.gather(*(floor.orders.take(f"worker-{n}", 600, OFFER) for n in range(16)))
    ids = [claim.order.id for claim in claims if claim is not None]
    assert len(ids) == len(set(ids)) == 12
