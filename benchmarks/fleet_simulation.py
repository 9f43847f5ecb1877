"""A fleet whose devices only let time pass: real stores, real claims and real turns over PostgreSQL.

An orchestrator here claims jobs, renews its leases, places orders and reads what ended by the product's own stores; in
place of the agents' graph a job thinks for a while before each order. A device worker takes the order whose turn it is,
keeps its claim alive and answers it. Only the broker is a counter: its messages say no more than "look".
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from dataclasses import replace
from datetime import timedelta

import psycopg
from sqlalchemy import make_url

from benchmarks.fleet_clock import BEGIN, SimulatedClock
from benchmarks.fleet_plan import DeviceUse, FleetPlan, Record, TeamPlan
from services.domain.errors import InfrastructureError
from services.domain.evaluations import EvaluationReport
from services.domain.jobs import Job, JobSpec, JobStatus, Lease
from services.domain.nodes import Offer
from services.domain.validations import ValidationReport, ValidationRequest
from services.domain.work import WorkOrder, WorkStatus, order_of
from storage.database import Database
from storage.jobs.store import SqlJobStore
from storage.jobs.work_orders import SqlWorkStore
from storage.teams.store import SqlTeamStore
from tests.doubles import a_candidate, a_device, a_job, a_problem, a_report, an_analysis, an_evaluation_request

DEVICE = "cpu"
OFFER = Offer(device=DEVICE, backends=("cpp",), evaluator="a simulated device")
CLAIM_S, LEASE_S = 30.0, 15.0
"""As the product's settings have them."""
POLL_S = 1.0
"""How often an orchestrator claims jobs and reads what ended, and the fleet is looked at."""
VALIDATION_S = 3.0
SPREAD = 0.6
"""Standard deviation of the logarithm of an order's seconds."""
PRIORITIES = (-10, 0, 0, 0, 10)
_OPEN = frozenset({WorkStatus.QUEUED, WorkStatus.RUNNING})


class Doorbell:
    """What the broker is to workers: as many messages as orders were placed, each of which wakes one."""

    def __init__(self, clock: SimulatedClock) -> None:
        self._clock = clock
        self._messages = 0
        self._idle: deque[asyncio.Future[None]] = deque()

    def ring(self, times: int = 1) -> None:
        for _ in range(times):
            if self._idle:
                self._clock.wake(self._idle.popleft())
            else:
                self._messages += 1

    async def wait(self) -> None:
        if self._messages:
            self._messages -= 1
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._idle.append(waiting)
        await self._clock.wait(waiting)


class Worker:
    """A device worker, with connections of its own."""

    def __init__(self, number: int, url: str, fleet: Fleet) -> None:
        self.name = f"worker-{number}"
        self._database = Database(url)
        self._orders = SqlWorkStore(self._database, fleet.clock)
        self._fleet = fleet

    async def serve(self) -> None:
        fleet = self._fleet
        while True:
            await fleet.bell.wait()
            began = asyncio.get_running_loop().time()
            claim = await self._orders.take(self.name, CLAIM_S, OFFER)
            fleet.record.take_s.append(asyncio.get_running_loop().time() - began)
            if claim is None:
                continue
            started_s = fleet.clock.monotonic()
            left_s = fleet.seconds_of(claim.order)
            while left_s > CLAIM_S / 3:
                await fleet.clock.sleep(CLAIM_S / 3)
                await self._orders.renew(claim, CLAIM_S)
                left_s -= CLAIM_S / 3
            await fleet.clock.sleep(left_s)
            if not await self._orders.finish(claim, _answer(claim.order)):
                fleet.record.refused += 1
            request = claim.order.request
            fleet.record.uses.append(
                DeviceUse(
                    team=request.team_id,
                    job=request.job_id,
                    began_s=started_s,
                    ended_s=fleet.clock.monotonic(),
                    is_check=isinstance(request, ValidationRequest),
                )
            )

    async def close(self) -> None:
        await self._database.close()


class Dispatcher:
    """An orchestrator without agents: it claims jobs, holds their leases and places their orders."""

    def __init__(self, number: int, url: str, fleet: Fleet) -> None:
        self.name = f"orchestrator-{number}"
        self._database = Database(url)
        self._jobs = SqlJobStore(self._database, fleet.clock)
        self._orders = SqlWorkStore(self._database, fleet.clock)
        self._fleet = fleet
        self._leases: dict[str, Lease] = {}
        self._answers: dict[str, asyncio.Future[None]] = {}

    async def serve(self) -> None:
        """Claim whatever there is room for, hand out answers, keep leases; every second."""
        clock, renewed_s = self._fleet.clock, 0.0
        while True:
            while len(self._leases) < self._fleet.plan.concurrency and (lease := await self._claimed()) is not None:
                self._leases[lease.job_id] = lease
                clock.start(self._run(lease))
            for order_id in await self._orders.ended(tuple(self._answers)):
                clock.wake(self._answers.pop(order_id))
            if clock.monotonic() - renewed_s >= LEASE_S / 3 and self._leases:
                renewed_s = clock.monotonic()
                for lease in await self._jobs.renew_all(tuple(self._leases.values()), LEASE_S):
                    if lease.job_id in self._leases:
                        self._leases[lease.job_id] = lease
            await clock.sleep(POLL_S)

    async def close(self) -> None:
        await self._database.close()

    async def _claimed(self) -> Lease | None:
        record, time = self._fleet.record, asyncio.get_running_loop().time
        began = time()
        lease = await self._jobs.acquire(self.name, LEASE_S, busy=tuple(self._leases))
        record.claim_s.append(time() - began)
        if lease is not None:
            record.started_s.setdefault(lease.job_id, self._fleet.clock.monotonic())
        return lease

    async def _run(self, lease: Lease) -> None:
        """A job from its claim to its end."""
        fleet, job, team = self._fleet, lease.job_id, lease.team_id
        await self._jobs.set_status(lease, JobStatus.VALIDATING)
        validation = ValidationRequest(job_id=job, team_id=team, problem=a_problem(), device=DEVICE, backend="cpp")
        await self._done(order_of(validation))
        await self._jobs.set_status(lease, JobStatus.RUNNING, analysis=an_analysis())
        for step in range(fleet.plan.rounds):
            await fleet.clock.sleep(fleet.chance.expovariate(1 / fleet.plan.think_s))
            await self._done(order_of(an_evaluation_request(a_candidate(job, step, team_id=team))))
        ended = await self._jobs.set_status(lease, JobStatus.SOLVED)
        await self._jobs.release(self._leases.pop(job))
        fleet.ended(ended)

    async def _done(self, order: WorkOrder) -> None:
        state = await self._orders.place(order)
        if state.status in _OPEN:
            waiting = self._answers[order.id] = asyncio.get_running_loop().create_future()
            self._fleet.bell.ring()
            await self._fleet.clock.wait(waiting)


class Fleet:
    """The simulation of one plan over one database, which it fills."""

    def __init__(self, plan: FleetPlan, url: str) -> None:
        self.plan = plan
        self.clock = SimulatedClock()
        self.bell = Doorbell(self.clock)
        self.record = Record()
        self.chance = random.Random(plan.seed)
        self.url = url
        self._teams = {team.name: team for team in plan.teams}
        self._over = asyncio.Event()

    async def run(self, watch: Watch | None = None) -> Record:
        """All that was planned, to the end of the last job. Raises `InfrastructureError` where an actor fails."""
        database = Database(self.url)
        workers = [Worker(number, self.url, self) for number in range(self.plan.workers)]
        dispatchers = [Dispatcher(number, self.url, self) for number in range(self.plan.orchestrators)]
        members: list[Worker | Dispatcher] = [*workers, *dispatchers]
        try:
            await self._found_teams(database)
            # Nobody's moment comes before all are there.
            actors = [
                self.clock.start(self._submit(SqlJobStore(database, self.clock), plan)) for plan in self.plan.teams
            ]
            actors += [self.clock.start(one.serve()) for one in members]
            actors.append(self.clock.start((watch or Watch()).serve(self)))
            over = asyncio.create_task(self._over.wait())
            await asyncio.wait([over, *actors[len(self.plan.teams) :]], return_when=asyncio.FIRST_COMPLETED)
            over.cancel()
            for actor in actors:
                if actor.done() and not actor.cancelled() and (error := actor.exception()) is not None:
                    raise InfrastructureError(f"the fleet stopped after {self.clock.monotonic():.0f} s: {error}")
        finally:
            await self.clock.stop()
            await asyncio.gather(*(one.close() for one in members))
            await database.close()
        return self.record

    def seconds_of(self, order: WorkOrder) -> float:
        """Device seconds of an order: the same whenever it is asked."""
        if isinstance(order.request, ValidationRequest):
            return VALIDATION_S
        drawn = random.Random(f"{self.plan.seed} {order.id}").lognormvariate(0.0, SPREAD)
        return self._teams[order.request.team_id].order_s * drawn

    def ended(self, job: Job) -> None:
        """A job has ended."""
        self.record.ended[job.id] = job.status
        if len(self.record.ended) == self.plan.jobs:
            self._over.set()

    def looked(self) -> None:
        """Stop where the plan's time is over."""
        if self.clock.monotonic() >= self.plan.limit_s:
            self.stop()

    def stop(self) -> None:
        """End the run here, with what has been recorded."""
        self._over.set()

    async def _found_teams(self, database: Database) -> None:
        teams = SqlTeamStore(database, self.clock)
        for plan in self.plan.teams:
            await teams.create_team(plan.name, "benchmark")
            await teams.set_weight(plan.name, plan.weight, "benchmark")

    async def _submit(self, jobs: SqlJobStore, team: TeamPlan) -> None:
        for number in range(team.jobs):
            due_s = team.begins_s + team.over_s * number / team.jobs
            if due_s > self.clock.monotonic():
                await self.clock.sleep(due_s - self.clock.monotonic())
            priority = self.chance.choice(PRIORITIES)
            job = a_job(f"{team.name}-{number:05}", spec=JobSpec(problem=a_problem(), priority=priority))
            moment = BEGIN + timedelta(seconds=self.clock.monotonic())
            self.record.submitted[job.id] = (team.name, priority, self.clock.monotonic())
            await jobs.create(replace(job, team_id=team.name, created_at=moment, updated_at=moment))


class Watch:
    """Looks at the database once in a while: who has work waiting, and how much the fleet asks of the server."""

    def __init__(self, every_s: float = 10.0) -> None:
        self._every_s = every_s

    async def serve(self, fleet: Fleet) -> None:
        address = make_url(fleet.url).set(drivername="postgresql").render_as_string(hide_password=False)
        async with await psycopg.AsyncConnection.connect(address, autocommit=True) as connection:
            while True:
                found = await (await connection.execute(_WAITING)).fetchall()
                fleet.record.waiting.append((fleet.clock.monotonic(), frozenset(str(row[0]) for row in found)))
                for query, name in ((_CONNECTIONS, "most_connections"), (_OPEN_ORDERS, "most_open_orders")):
                    row = await (await connection.execute(query)).fetchone()
                    assert row is not None
                    setattr(fleet.record, name, max(getattr(fleet.record, name), int(row[0])))
                fleet.looked()
                self.looked(fleet)
                await fleet.clock.sleep(self._every_s)

    def looked(self, fleet: Fleet) -> None:
        """What follows each look; here nothing."""


_WAITING = b"""
SELECT team_id FROM work_orders WHERE status = 'queued'
UNION SELECT team_id FROM jobs WHERE claimable AND lease_owner IS NULL
"""
_CONNECTIONS = b"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
_OPEN_ORDERS = b"SELECT count(*) FROM work_orders WHERE status IN ('queued', 'running')"


def _answer(order: WorkOrder) -> ValidationReport | EvaluationReport:
    if isinstance(order.request, ValidationRequest):
        return ValidationReport(analysis=an_analysis(), refusal=None, device=a_device())
    return a_report()
