"""Lists, searches, deletion and quota checks beside a million candidates in PostgreSQL.

    python -m benchmarks.million_candidates [--jobs 100000] [--candidates 10] [--seconds 20]

Starts a PostgreSQL of its own, fills it with SQL, and prints what people and the API ask for: plans, latencies, and the
server's processor time, buffers and spilled pages a call, which a busy machine does not blur. Six searchers ask at once
for `--seconds`.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import itertools
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, text

from benchmarks.load import report_load
from benchmarks.statement_costs import SETTINGS, Cost, CostMeter
from services.domain.deletion import Retention
from services.domain.jobs import JobFilter
from services.domain.quotas import Period, Quota, Resource
from services.runtime.clock import SystemClock
from services.teams.quotas import QuotaService
from storage.database import Database
from storage.jobs.retention import TRAJECTORIES, RetentionRounds
from storage.jobs.rows import jobs_of, row_of
from storage.jobs.store import SqlJobStore
from storage.teams.quotas import SqlQuotaStore
from tests.doubles import a_job
from tests.faults.ground import PostgresServer, folder

SEARCHERS = 6
FILTERS: dict[str, JobFilter] = {
    "newest": JobFilter(),
    "a common word": JobFilter(text="softmax"),
    "a rare word": JobFilter(text="needle77"),
    "a word that is nowhere": JobFilter(text="nowhere-to-be-found"),
    "a tag": JobFilter(tags=("nightly",)),
    "a tag that is part of another": JobFilter(tags=("night",)),
    "a tag that is a third of all names": JobFilter(tags=("softmax",)),
    "two letters that are nowhere": JobFilter(text="qx"),
}
AT_ONCE = ("newest", "a common word", "a rare word", "a word that is nowhere", "a tag")
EXPIRE_DAYS = 60.0
VARIANTS = (
    ("softmax", ()),
    ("rmsnorm", ()),
    ("gemm", ()),
    ("softmax", ("nightly",)),
    ("gemm", ("needle77",)),
)
_VARIANT = "CASE WHEN j % 20000 = 7 THEN 4 WHEN j % 100 = 0 THEN 3 ELSE j % 3 END"
REPORT = '{"verdict": "accepted"}'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--candidates", type=int, default=10, help="of each job")
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    report_load()
    with folder() as place:
        server = PostgresServer(place, settings=(*SETTINGS, "max_wal_size=8GB"))
        try:
            asyncio.run(_measure(server, given.jobs, given.candidates, given.seconds))
        finally:
            server.close()
    report_load()
    return 0


async def _measure(server: PostgresServer, count: int, each: int, seconds: float) -> None:
    database, clock = Database(server.url), SystemClock()
    await database.upgrade()
    began = time.perf_counter()
    await database.write(lambda connection: _fill(connection, count, each))
    await database.outside(lambda connection: connection.execute(text("VACUUM ANALYZE")))
    print(f"{count} jobs, {count * each} candidates: filled in {time.perf_counter() - began:.0f} s\n")
    store = SqlJobStore(database, clock)
    for what, wanted in FILTERS.items():
        await database.read(functools.partial(_explain, what=what, wanted=wanted))
    print(f"\n| request | p50 | p99 | calls | {Cost.HEAD} |\n|{'---|' * 7}")
    stopwatch = Stopwatch(server)
    for what, wanted in FILTERS.items():
        await stopwatch.time(f"list: {what}", functools.partial(store.list, "local", wanted=wanted), 40)
    await _searchers(stopwatch, store, seconds)
    quotas, since = SqlQuotaStore(database, clock), clock.now() - timedelta(days=30)
    for resource in Resource:
        used = functools.partial(quotas.used, "local", [(resource, since)])
        await stopwatch.time(f"quota: {resource}, first check", used, 1)
        await stopwatch.time(f"quota: {resource}", used, 40)
    await _submissions(stopwatch, store, QuotaService(quotas, clock))
    names = iter(range(1, count))
    await stopwatch.time("`DELETE` of a job", lambda: store.delete("local", f"job-{next(names):08d}", "bench"), 20)
    await _retention(stopwatch, database)
    stopwatch.close()
    await database.close()


async def _retention(stopwatch: Stopwatch, database: Database) -> None:
    """Rounds of fifty jobs each, and then one that finds nothing beside all that have expired."""
    rounds = RetentionRounds(database, SystemClock(), Retention(trajectories_days=EXPIRE_DAYS))
    await stopwatch.time("retention of trajectories: 50 jobs", rounds.expire, 10)
    before = {"seconds": EXPIRE_DAYS * 86400, "bit": TRAJECTORIES}
    expired = text("UPDATE jobs SET expired = :bit WHERE finished_at < now() - :seconds * interval '1 second'")
    await database.write(lambda connection: connection.execute(expired, before))
    await database.outside(lambda connection: connection.execute(text("VACUUM ANALYZE jobs")))
    await stopwatch.time("retention: nothing new", rounds.expire, 10)


def _fill(connection: Connection, count: int, each: int) -> None:
    """Jobs over the last ninety days, all solved, with steps, candidates, evaluations, calls and their contents."""
    connection.execute(text("SET LOCAL statement_timeout = 0"))
    connection.execute(text("CREATE TEMP TABLE variants (v int, name text, spec text, search text) ON COMMIT DROP"))
    connection.execute(text("INSERT INTO variants VALUES (:v, :name, :spec, :search)"), list(_variants()))
    for statement in STATEMENTS:
        connection.execute(text(statement), {"jobs": count, "each": each, "report": REPORT})


def _variants() -> Iterator[dict[str, Any]]:
    """The kinds of jobs there are, as rows; `search` without the job's id."""
    for number, (name, tags) in enumerate(VARIANTS):
        job = a_job()
        problem = replace(job.spec.problem, name=name)
        row = row_of(replace(job, id="", spec=replace(job.spec, problem=problem, tags=tags)), "", None)
        yield {"v": number, "name": name, "spec": row["spec"], "search": row["search"]}


_JOB = "'job-' || lpad(j::text, 8, '0')"
_STEP = f"{_JOB} || '-' || k"
_AT = "now() - j * (7776000.0 / :jobs) * interval '1 second' - interval '1 hour'"
STATEMENTS = (
    "INSERT INTO teams (id, created_at) VALUES ('local', now()) ON CONFLICT DO NOTHING",
    """INSERT INTO blobs (team_id, hash, bytes, content)
       SELECT 'local', 'problem-' || j, 10, 'x'::bytea FROM generate_series(1, 200) j""",
    f"""INSERT INTO blobs (team_id, hash, bytes, content)
        SELECT 'local', kind || {_STEP}, 10, 'x'::bytea
        FROM generate_series(1, :jobs) j, generate_series(1, :each) k, (VALUES ('c-'), ('p-'), ('r-')) kinds(kind)""",
    f"""INSERT INTO jobs (id, team_id, status, claimable, name, spec, source_hash, cancel_requested, pause_requested,
                          created_at, updated_at, finished_at, search)
        SELECT {_JOB}, 'local', 'solved', false, name, spec, 'problem-' || 1 + j % 200, false, false,
               {_AT}, {_AT}, {_AT},
               {_JOB} || search
        FROM generate_series(1, :jobs) j JOIN variants ON v = {_VARIANT}""",
    f"""INSERT INTO candidates (id, team_id, job_id, step, origin, backend, source_hash, summary, created_at)
        SELECT 'cand-' || {_STEP}, 'local', {_JOB}, k, 'coder', 'cpp', 'c-' || {_STEP}, 's', {_AT}
        FROM generate_series(1, :jobs) j, generate_series(1, :each) k""",
    f"""INSERT INTO evaluations (id, team_id, job_id, candidate_id, device, backend, source_hash, problem_hash, verdict,
                                 median_us, speedup, report, device_s, created_at)
        SELECT 'eval-' || {_STEP}, 'local', {_JOB}, 'cand-' || {_STEP}, 'cpu', 'cpp', 'c-' || {_STEP},
               'problem-' || 1 + j % 200, 'accepted', 1, 1, :report, 1, {_AT}
        FROM generate_series(1, :jobs) j, generate_series(1, :each) k""",
    f"""INSERT INTO steps (job_id, step, team_id, stage, candidate_id, evaluation_id, started_at, finished_at)
        SELECT {_JOB}, k, 'local', 'refine', 'cand-' || {_STEP}, 'eval-' || {_STEP}, {_AT}, {_AT}
        FROM generate_series(1, :jobs) j, generate_series(1, :each) k""",
    f"""INSERT INTO model_calls (job_id, step, position, team_id, role, model, prompt_hash, prompt_blob, reply_blob,
                                 calls, input_tokens, cached_tokens, output_tokens, reasoning_tokens, seconds)
        SELECT {_JOB}, k, 0, 'local', 'coder', 'm', 'h', 'p-' || {_STEP}, 'r-' || {_STEP}, 1, 100, 0, 10, 0, 1
        FROM generate_series(1, :jobs) j, generate_series(1, :each) k""",
)


def _explain(connection: Connection, what: str, wanted: JobFilter) -> None:
    query = jobs_of("local", None, wanted).limit(51)
    plain = query.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True})
    plan = connection.exec_driver_sql(
        f"EXPLAIN (ANALYZE, SUMMARY OFF) {str(plain).replace('%%', '%').replace('%', '%%')}"
    )
    scans = [line[0].strip() for line in plan if "Scan" in line[0]]
    print(f"{what}: {'; '.join(scan.split('  (')[0].removeprefix('->').strip() for scan in scans)}")


class Stopwatch:
    """Times calls, and asks the server what they cost it; prints a row of a table for each kind."""

    def __init__(self, server: PostgresServer) -> None:
        self._meter = CostMeter(server)

    async def time(self, what: str, ask: Callable[[], Awaitable[object]], calls: int) -> None:
        """So many calls, one after another."""
        self._meter.start()
        self._print(what, [await _one(ask) for _ in range(calls)])

    async def time_at_once(self, what: str, askers: Sequence[Callable[[], Awaitable[Sequence[float]]]]) -> None:
        """Several who ask at once, each of whom says what its calls took."""
        self._meter.start()
        self._print(what, list(itertools.chain(*await asyncio.gather(*(ask() for ask in askers)))))

    def close(self) -> None:
        """Let the server go."""
        self._meter.close()

    def _print(self, what: str, taken: Sequence[float]) -> None:
        ordered = sorted(taken)
        high = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
        times = f"{statistics.median(ordered):.1f} ms | {high:.1f} ms | {len(ordered)}"
        print(f"| {what} | {times} | {self._meter.read(len(ordered))} |", flush=True)


async def _one(ask: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await ask()
    return 1e3 * (time.perf_counter() - began)


async def _searchers(stopwatch: Stopwatch, store: SqlJobStore, seconds: float) -> None:
    end = time.perf_counter() + seconds

    async def search(number: int) -> list[float]:
        turns = itertools.islice(itertools.cycle(AT_ONCE), number, None)
        taken = []
        while time.perf_counter() < end:
            taken.append(await _one(functools.partial(store.list, "local", wanted=FILTERS[next(turns)])))
        return taken

    searchers = [functools.partial(search, number) for number in range(SEARCHERS)]
    await stopwatch.time_at_once(f"{SEARCHERS} searchers at once", searchers)


async def _submissions(stopwatch: Stopwatch, store: SqlJobStore, quotas: QuotaService) -> None:
    """What a POST asks of the database: all quotas, then the job."""
    for resource in Resource:
        await quotas.set("local", Quota(resource=resource, period=Period.MONTH, most=1e12), "bench")
    numbers = itertools.count()

    async def submit() -> None:
        await quotas.admit("local")
        await store.create(a_job(f"submitted-{next(numbers)}"))

    await stopwatch.time("POST: four quotas, the job", submit, 40)


if __name__ == "__main__":
    raise SystemExit(main())
