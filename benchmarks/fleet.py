"""A simulated fleet: are devices shared fairly between teams of very different size, and what does claiming cost?

    python -m benchmarks.fleet [--jobs 10000] [--workers 100] [--orchestrators 3] [--seed 0] [--minutes 60]
    python -m benchmarks.fleet --pressure 50,100,200,400 [--seconds 15] [--max-connections 100]

The first form runs ten teams' jobs on fake devices in simulated time over a PostgreSQL of its own, with the product's
claims, leases, priorities and turns, and prints for any five minutes what teams with work waiting got of their
weighted max–min share; SIGTERM ends it early, with the report of what ran. The second form lets so many workers claim,
renew and answer in real time, each with connections of its own as a process has them, until something breaks.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import random
import resource
import signal
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from sqlalchemy import Connection, text

from benchmarks.fleet_plan import FleetPlan, Record, TeamPlan
from benchmarks.fleet_shares import Window, windows
from benchmarks.fleet_simulation import CLAIM_S, DEVICE, OFFER, Fleet, Watch
from services.domain.errors import KernelwrightError
from services.domain.jobs import JobStatus
from services.domain.work import order_of
from services.runtime.clock import SystemClock
from storage.database import Database
from storage.jobs.work_orders import SqlWorkStore
from tests.doubles import a_candidate, a_report, an_evaluation_request
from tests.e2e.programs import descendants
from tests.faults.ground import PostgresServer, folder

GOAL = 0.5
"""Of its share a team with work waiting must never get less."""
TEAMS = (
    TeamPlan(name="foundation", weight=4, jobs=3600, order_s=20, over_s=3600),
    TeamPlan(name="vision", weight=2, jobs=2000, order_s=12, over_s=3600),
    TeamPlan(name="speech", weight=2, jobs=1200, order_s=30, over_s=1800),
    TeamPlan(name="search", weight=1, jobs=1200, order_s=8, over_s=1200),
    TeamPlan(name="ads", weight=1, jobs=1000, order_s=10),
    TeamPlan(name="research", weight=1, jobs=500, order_s=60, over_s=600),
    TeamPlan(name="robotics", weight=1, jobs=300, order_s=120, begins_s=900),
    TeamPlan(name="nightly", weight=0.5, jobs=160, order_s=20, begins_s=1800),
    TeamPlan(name="students", weight=0.5, jobs=30, order_s=30, begins_s=2400),
    TeamPlan(name="intern", weight=0.25, jobs=10, order_s=40, begins_s=3000),
)
"""10,000 jobs: the largest team asks for 360 times what the smallest does, and weighs 16 times as much."""
TICKS_S = 100.0


def scaled(teams: Sequence[TeamPlan], jobs: int) -> tuple[TeamPlan, ...]:
    """The teams with about so many jobs together, over a time that is shorter by as much."""
    factor = jobs / sum(team.jobs for team in teams)
    return tuple(
        replace(
            team,
            jobs=max(1, round(team.jobs * factor)),
            begins_s=team.begins_s * factor,
            over_s=team.over_s * factor,
        )
        for team in teams
    )


def report_fairness(plan: FleetPlan, record: Record) -> bool:
    """Print what teams got of their shares; whether nobody ever got less than the goal."""
    by_team: dict[str, list[Window]] = defaultdict(list)
    for window in windows(plan, record):
        by_team[window.team].append(window)
    used: dict[str, float] = defaultdict(float)
    for use in record.uses:
        used[use.team] += use.ended_s - use.began_s
    print("| team | weight | jobs | device hours | windows with work waiting | least | median | most |")
    print("|---|---|---|---|---|---|---|---|")
    for team in plan.teams:
        ratios = [window.ratio for window in by_team[team.name]]
        shown = (
            [f"{value:.2f}" for value in (min(ratios), statistics.median(ratios), max(ratios))] if ratios else ["–"] * 3
        )
        print(
            f"| {team.name} | {team.weight:g} | {team.jobs} | {used[team.name] / 3600:.1f} | {len(ratios)} | "
            f"{' | '.join(shown)} |"
        )
    short = [window for found in by_team.values() for window in found if window.ratio < GOAL]
    for window in short:
        print(f"below half of its share: {window}")
    print(f"{sum(map(len, by_team.values()))} windows, {len(short)} below {GOAL:g} of the share")
    return not short


def report_priorities(record: Record) -> None:
    """Print how long jobs waited for their claim, by priority."""
    waits: dict[int, list[float]] = defaultdict(list)
    for job, (_, priority, submitted_s) in record.submitted.items():
        if job in record.started_s:
            waits[priority].append(record.started_s[job] - submitted_s)
    shown = ", ".join(
        f"{priority:+d}: {statistics.median(found):.0f} s" for priority, found in sorted(waits.items(), reverse=True)
    )
    print(f"median wait for an orchestrator by priority: {shown}")


@dataclass(frozen=True, kw_only=True)
class Cost:
    """CPU time so far."""

    own_s: float
    server_s: float

    @classmethod
    def now(cls, server: PostgresServer) -> Cost:
        own = resource.getrusage(resource.RUSAGE_SELF)
        return cls(own_s=own.ru_utime + own.ru_stime, server_s=_server_cpu_s(server))


def _server_cpu_s(server: PostgresServer) -> float:
    """CPU time of a PostgreSQL and of all its processes, ended ones too."""
    first = int((server.data / "postmaster.pid").read_text().splitlines()[0])
    ticks = 0
    for pid in [first, *descendants(first)]:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(int(field) for field in (fields[11:15] if pid == first else fields[11:13]))
    return ticks / TICKS_S


def report_cost(plan: FleetPlan, record: Record, before: Cost, after: Cost, wall_s: float) -> None:
    simulated_s = max(use.ended_s for use in record.uses)
    steps = sum(not use.is_check for use in record.uses)
    busy = sum(use.ended_s - use.began_s for use in record.uses) / (plan.workers * simulated_s)
    own_s, server_s = after.own_s - before.own_s, after.server_s - before.server_s
    print(
        f"{len(record.ended)} of {plan.jobs} jobs ended, {steps} steps, {len(record.uses)} orders on "
        f"{plan.workers} workers and "
        f"{plan.orchestrators} orchestrators: {simulated_s / 60:.0f} simulated minutes in {wall_s / 60:.1f} real ones, "
        f"devices {busy:.0%} busy"
    )
    print(
        f"{len(record.ended) / simulated_s * 60:.0f} jobs and {steps / simulated_s * 60:.0f} steps a simulated minute; "
        f"{steps / wall_s:.0f} steps a real second"
    )
    print(
        f"CPU time a step: {own_s / steps * 1e3:.1f} ms of stores and simulation, {server_s / steps * 1e3:.1f} ms of "
        f"PostgreSQL"
    )
    for what, found in (("an order", record.take_s), ("a job", record.claim_s)):
        print(
            f"claiming {what}: p50 {np.quantile(found, 0.5) * 1e3:.1f} ms, p99 {np.quantile(found, 0.99) * 1e3:.1f} ms"
        )
    print(f"at most {record.most_connections} connections and {record.most_open_orders} open orders")
    failed = sum(status is not JobStatus.SOLVED for status in record.ended.values())
    print(f"{failed} jobs ended otherwise than solved, {record.refused} answers refused")


class Progress(Watch):
    """Says every five simulated minutes how far the fleet is."""

    _told_s = 0.0

    def looked(self, fleet: Fleet) -> None:
        """Once after each look."""
        if (now_s := fleet.clock.monotonic()) - self._told_s >= 300:
            self._told_s = now_s
            record = fleet.record
            print(f"{now_s / 60:.0f} min: {len(record.ended)} jobs ended, {len(record.uses)} orders", flush=True)


async def simulate(plan: FleetPlan, server: PostgresServer) -> bool:
    database = Database(server.url)
    await database.upgrade()
    await database.close()
    before, began = Cost.now(server), time.monotonic()
    fleet = Fleet(plan, server.url)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, fleet.stop)
    record = await fleet.run(Progress())
    report_cost(plan, record, before, Cost.now(server), time.monotonic() - began)
    report_priorities(record)
    return report_fairness(plan, record)


@dataclass(kw_only=True)
class Pressed:
    """What workers met in real time."""

    beats: list[float] = field(default_factory=list)
    takes: list[float] = field(default_factory=list)
    lost: int = 0
    faults: dict[str, int] = field(default_factory=lambda: defaultdict(int))


async def press(server: PostgresServer, workers: int, seconds: float, order_s: float) -> Pressed:
    """Real-time workers that claim, renew every second and answer, each with connections of its own."""
    pressed, clock = Pressed(), SystemClock()
    databases = [Database(server.url) for _ in range(workers)]

    async def place() -> None:
        orders = SqlWorkStore(databases[0], clock)
        for number in range(int(workers * (1 + seconds / order_s))):
            request = replace(
                an_evaluation_request(a_candidate(f"job-{workers}-{number}")), team_id=f"team-{number % 10}"
            )
            await orders.place(order_of(request))

    async def work(number: int) -> None:
        orders, chance = SqlWorkStore(databases[number], clock), random.Random(number)
        await asyncio.sleep(chance.uniform(0, 1))  # they were not started at the same moment
        while time.monotonic() < stop_at:
            try:
                await _one_order(orders, f"worker-{number}", chance.uniform(0.5, 1.5) * order_s, pressed, stop_at)
            except KernelwrightError as error:
                pressed.faults[str(error).splitlines()[0][:120]] += 1
                await asyncio.sleep(1)

    async def connect(database: Database) -> None:
        """As a worker that has been there for a while: its first claim does not wait for connections."""
        await asyncio.gather(database.write(_one_row), database.read(_one_row))

    await place()
    for outcome in await asyncio.gather(*map(connect, databases), return_exceptions=True):
        if isinstance(outcome, KernelwrightError):
            pressed.faults[str(outcome).splitlines()[0][:120]] += 1
        elif isinstance(outcome, BaseException):
            raise outcome
    stop_at = time.monotonic() + seconds
    await asyncio.gather(*(work(number) for number in range(workers)))
    await asyncio.gather(*(database.close() for database in databases))
    return pressed


def _one_row(connection: Connection) -> object:
    return connection.execute(text("SELECT 1")).scalar_one()


async def _one_order(orders: SqlWorkStore, name: str, order_s: float, pressed: Pressed, stop_at: float) -> None:
    began = time.monotonic()
    claim = await orders.take(name, CLAIM_S, OFFER)
    pressed.takes.append(time.monotonic() - began)
    if claim is None:
        await asyncio.sleep(1)
        return
    until = time.monotonic() + order_s
    while (now := time.monotonic()) < until and now < stop_at:
        await asyncio.sleep(min(1.0, until - now))
        began = time.monotonic()
        if not await orders.renew(claim, CLAIM_S):
            pressed.lost += 1
            return
        pressed.beats.append(time.monotonic() - began)
    await orders.finish(claim, a_report())


def report_pressure(server: PostgresServer, sizes: Sequence[int], seconds: float, order_s: float) -> None:
    async def prepare() -> None:
        database = Database(server.url)
        await database.upgrade()
        await database.close()

    asyncio.run(prepare())
    print("| workers | renewal p50 | p99 | claim p50 | p99 | claims lost | CPU: workers | PostgreSQL | faults |")
    print("|---|---|---|---|---|---|---|---|---|")
    for workers in sizes:
        before, began = Cost.now(server), time.monotonic()
        pressed = asyncio.run(press(server, workers, seconds, order_s))
        after, wall_s = Cost.now(server), time.monotonic() - began
        figures = [
            f"{np.quantile(found, share) * 1e3:.0f} ms" if found else "–"
            for found in (pressed.beats, pressed.takes)
            for share in (0.5, 0.99)
        ]
        faults = "; ".join(f"{count} × {text}" for text, count in pressed.faults.items()) or "none"
        cores = [
            f"{(b - a) / wall_s:.2f} cores" for a, b in ((before.own_s, after.own_s), (before.server_s, after.server_s))
        ]
        print(f"| {workers} | {' | '.join(figures)} | {pressed.lost} | {' | '.join(cores)} | {faults} |", flush=True)
        server.execute(f"DELETE FROM work_orders WHERE device = '{DEVICE}'")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--orchestrators", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=math.inf, help="simulated; default: until all jobs have ended")
    parser.add_argument("--pressure", default="", help="workers in real time, one size after another")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each size")
    parser.add_argument("--order", type=float, default=5.0, help="mean seconds of an order under pressure")
    parser.add_argument("--max-connections", type=int, default=400, help="of the PostgreSQL that is started")
    given = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    with folder() as place:
        server = PostgresServer(place, max_connections=given.max_connections)
        try:
            if given.pressure:
                report_pressure(server, [int(size) for size in given.pressure.split(",")], given.seconds, given.order)
                return
            plan = FleetPlan(
                teams=scaled(TEAMS, given.jobs),
                workers=given.workers,
                orchestrators=given.orchestrators,
                seed=given.seed,
                limit_s=given.minutes * 60,
            )
            holds = asyncio.run(simulate(plan, server))
        finally:
            server.close()
    print(f"load average {os.getloadavg()[0]:.1f} at the end")
    raise SystemExit(0 if holds else 1)


if __name__ == "__main__":
    main()
