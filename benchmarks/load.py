"""What the distributed service carries: many jobs with a scripted model and kernels that do nothing.

    python -m benchmarks.load [--jobs 500] [--watchers 200] [--rate 10] [--workers 2] [--finished 100,10000]
                              [--sample 50] [--equal]

Starts a Redis, a PostgreSQL, the API, an orchestrator and workers of its own. Prints jobs per minute, CPU time a step
and peak memory a process, the latency of POST while clients watch jobs over SSE, and the cost of a job beside so many
finished ones in the database. Model and kernels cost nothing: what is left is the service itself. Who watches is a
process of its own, so that reading events does not delay whoever submits; who submits gets a processor before all
others, where the system lets it: it stands for clients on other machines. Orchestrator and workers run at a lower
priority than the API and its servers, as `cpu_shares` of docker-compose.yml has it; `--equal` leaves them alike.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from tests.e2e.programs import SMALL, descendants
from tests.faults.ground import PostgresServer
from tests.faults.installation import ROUNDS, Installation, Part
from tests.faults.rows import ground

BODY = {"problem": {"source": SMALL, "name": "scaled_silu"}, "budget": {"rounds": ROUNDS, "tokens": 100_000}}
SENDERS = 4
CLONED = (
    "jobs",
    "events",
    "steps",
    "candidates",
    "evaluations",
    "model_calls",
    "step_experiences",
    "work_orders",
    "job_artefacts",
)
TICKS_S = 100.0
WAY_GIVEN = 5
"""Steps of niceness: about a third of the weight."""
WAY_TAKEN = 10
"""Steps of niceness for who submits, the other way."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What a process and those below it have used."""

    cpu_s: float
    peak_mib: float


def usage(part: Part) -> Usage:
    cpu_s = peak_kib = 0.0
    for pid in [part.process.pid, *descendants(part.process.pid)]:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        cpu_s += (int(fields[11]) + int(fields[12])) / TICKS_S
        peak_kib += next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)
    return Usage(cpu_s=cpu_s, peak_mib=peak_kib / 1024)


def report_load() -> None:
    """What else the machine does: wall times mean little beside a load far above the number of cores."""
    one, five, _ = os.getloadavg()
    print(f"load average {one:.1f} (1 min), {five:.1f} (5 min) on {os.cpu_count()} cores", flush=True)


async def submit(address: str, count: int, rate: float | None = None) -> tuple[list[str], list[float]]:
    """Submit jobs: ids, and seconds a POST. At so many a second on average, whether or not the ones before have been
    answered, as people do who know nothing of each other; without a rate, a few clients as fast as they can."""
    left, jobs, took = iter(range(count)), [], []

    async def post(client: httpx.AsyncClient) -> None:
        began = time.monotonic()
        answer = await client.post("/jobs", json=BODY)
        took.append(time.monotonic() - began)
        jobs.append(answer.raise_for_status().json()["id"])

    async def keep_sending(client: httpx.AsyncClient) -> None:
        for _ in left:
            await post(client)

    async with httpx.AsyncClient(base_url=address, timeout=60) as client:
        if rate is None:
            await asyncio.gather(*(keep_sending(client) for _ in range(SENDERS)))
        else:
            chance = random.Random(0)
            sent = []
            for _ in left:
                sent.append(asyncio.create_task(post(client)))
                await asyncio.sleep(chance.expovariate(rate))
            await asyncio.gather(*sent)
    return jobs, took


@contextmanager
def first_served() -> Iterator[None]:
    """This thread gets a processor whenever it wants one, so that its own waiting is not taken for the service's."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, own - WAY_TAKEN)
    except PermissionError:
        print("who submits waits for a processor like the others: another priority is not permitted here")
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, own)


def give_way(part: Part) -> None:
    """Let a process, and what it has started, run after those of higher priority: Linux counts it by thread."""
    for pid in [part.process.pid, *descendants(part.process.pid)]:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            own = os.getpriority(os.PRIO_PROCESS, int(thread.name))
            os.setpriority(os.PRIO_PROCESS, int(thread.name), own + WAY_GIVEN)


async def watch(client: httpx.AsyncClient, job: str, seen: list[int], connected: asyncio.Semaphore) -> None:
    """Follow a job's events to its end; `connected` is released with the first."""
    async with client.stream("GET", f"/jobs/{job}/events") as stream:
        lines = stream.aiter_lines()
        await anext(lines)
        connected.release()
        async for line in lines:
            seen[0] += line.startswith("data:")


async def watch_all(address: str, jobs: list[str], following: Any) -> int:
    """Follow so many jobs to their ends; the events seen. `following` is set once all are connected."""
    seen, connected = [0], asyncio.Semaphore(0)
    limits = httpx.Limits(max_connections=len(jobs) + 8)
    async with httpx.AsyncClient(base_url=address, timeout=None, limits=limits) as client:
        watching = [asyncio.create_task(watch(client, job, seen, connected)) for job in jobs]
        for _ in jobs:
            await connected.acquire()
        following.set()
        if watching:
            await asyncio.wait(watching, timeout=600)
    return seen[0]


def watching(address: str, jobs: list[str], following: Any, seen: Any) -> None:
    """The process of those who watch."""
    seen.value = asyncio.run(watch_all(address, jobs, following))


def loaded(address: str, jobs: int, watchers: int, rate: float | None) -> tuple[list[str], list[float], int]:
    """Submit while clients watch the first jobs; ids, seconds a POST, and events seen."""
    apart = multiprocessing.get_context("spawn")
    following, seen = apart.Event(), apart.Value("i", 0)
    first, _ = asyncio.run(submit(address, watchers))
    process = apart.Process(target=watching, args=(address, first, following, seen))
    process.start()
    try:
        following.wait(120)
        with first_served():
            rest, took = asyncio.run(submit(address, max(0, jobs - watchers), rate))
        process.join(900)
    finally:
        process.terminate()
    return first + rest, took, seen.value


def figures(place: Installation, parts: dict[str, Part], jobs: int, watchers: int, rate: float | None) -> None:
    assert place.client is not None
    before = {name: usage(part) for name, part in parts.items()}
    began = time.monotonic()
    ids, took, events = loaded(str(place.client.base_url), jobs, watchers, rate)
    place.wait(ids, 1800)
    wall_s = time.monotonic() - began
    place.check(ids)
    after = {name: usage(part) for name, part in parts.items()}
    steps = jobs * ROUNDS
    rates = f"{jobs / wall_s * 60:.0f} jobs a minute, {steps / wall_s:.1f} steps/s"
    print(f"{jobs} jobs of {ROUNDS} steps in {wall_s:.1f} s: {rates}")
    if took:
        shown = ", ".join(f"p{int(share * 100)} {np.quantile(took, share) * 1e3:.0f} ms" for share in (0.5, 0.9, 0.99))
        how = f"{rate:g} a second" if rate else f"{SENDERS} clients as fast as they can"
        print(f"POST while {watchers} SSE clients watch, {how}: {shown}; {events} events seen")
    for name in parts:
        cpu_s = after[name].cpu_s - before[name].cpu_s
        print(f"  {name}: {cpu_s / steps * 1e3:.1f} ms of CPU time a step, peak {after[name].peak_mib:.0f} MiB")


def clone(postgres: PostgresServer, job: str, first: int, count: int) -> None:
    """Put copies of a finished job into the database, with all its rows."""
    for table in CLONED:
        columns = [
            str(row[0])
            for row in postgres.rows(
                "SELECT column_name FROM information_schema.columns WHERE table_name = %s AND table_schema = 'public'",
                table,
            )
        ]
        key = "id" if table == "jobs" else "job_id"
        own = {"candidates": ("id",), "evaluations": ("id", "candidate_id"), "work_orders": ("id",)}.get(table, ())
        wanted = [f"{name} || '-' || n" if name == key or name in own else f'"{name}"' for name in columns]
        names = ", ".join(f'"{name}"' for name in columns)
        postgres.execute(
            f"INSERT INTO {table} ({names}) SELECT {', '.join(wanted)} FROM {table}, "
            f"generate_series({first}, {first + count - 1}) n WHERE {key} = '{job}'"
        )
    postgres.execute("ANALYZE")


def flat(place: Installation, parts: dict[str, Part], finished: list[int], sample: int) -> None:
    """The cost of some jobs beside more and more finished ones."""
    assert place.client is not None
    address = str(place.client.base_url)
    model, _ = asyncio.run(submit(address, 1))
    place.wait(model)
    there, costs = 0, []
    for count in finished:
        clone(place.postgres, model[0], there, count - there)
        there = count
        warm, _ = asyncio.run(submit(address, 10))
        place.wait(warm)
        before = sum(usage(part).cpu_s for part in parts.values())
        began = time.monotonic()
        ids, took = asyncio.run(submit(address, sample))
        place.wait(ids, 600)
        wall_ms = (time.monotonic() - began) / sample * 1e3
        cpu_ms = (sum(usage(part).cpu_s for part in parts.values()) - before) / sample * 1e3
        costs.append(cpu_ms)
        print(
            f"beside {count} finished jobs: {wall_ms:.0f} ms and {cpu_ms:.0f} ms of CPU time a job, "
            f"POST p50 {np.quantile(took, 0.5) * 1e3:.0f} ms"
        )
    print(f"CPU time a job, last over first: {costs[-1] / costs[0]:.2f}")


@contextmanager
def running(workers: int, *, equal: bool) -> Iterator[tuple[Installation, dict[str, Part]]]:
    with ground() as installation:
        parts = {"api": installation.parts[0], "orchestrator": installation.orchestrator(KERNELWRIGHT_LEASE_S="15")}
        for number in range(workers):
            parts[f"worker {number + 1}"] = installation.worker(FAULT_PHASE_S="0")
        for name, part in parts.items():
            if name != "api" and not equal:
                give_way(part)
        yield installation, parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--watchers", type=int, default=200)
    parser.add_argument("--rate", type=float, default=10.0, help="POSTs a second; 0: as fast as a few clients can")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--finished", default="100,10000", help="finished jobs in the database; empty to leave it out")
    parser.add_argument("--sample", type=int, default=50, help="jobs measured beside them")
    parser.add_argument("--equal", action="store_true", help="the same priority for all processes")
    given = parser.parse_args()
    with running(given.workers, equal=given.equal) as (place, parts):
        report_load()
        if given.jobs:
            figures(place, parts, given.jobs, min(given.watchers, given.jobs), given.rate or None)
        if given.finished:
            flat(place, parts, [int(count) for count in given.finished.split(",")], given.sample)
        report_load()


if __name__ == "__main__":
    main()
