"""How PostgreSQL answers what is asked beside much history: by index, and once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import Connection, event, text

from services.domain.jobs import JobFilter
from services.domain.nodes import Offer
from services.domain.work import order_of
from storage.contents.references import remove_unused
from storage.database import Database
from storage.jobs.retention import TRAJECTORIES, expiring
from storage.jobs.store import SqlJobStore
from storage.jobs.work_orders import SqlWorkStore
from storage.jobs.work_turns import next_order
from tests.doubles import FrozenClock, a_candidate, a_job, an_evaluation_request

_COPIES = text(
    "INSERT INTO jobs (id, team_id, status, claimable, name, spec, source_hash, cancel_requested, pause_requested, "
    "created_at, updated_at, finished_at, expired, search) "
    "SELECT 'copy-' || n, team_id, 'solved', false, name, spec, source_hash, false, false, created_at, updated_at, "
    "created_at - n * interval '1 second', :expired, 'copy-' || n || substr(search, strpos(search, chr(10))) "
    "FROM jobs, generate_series(1, :count) n WHERE id = 'job-1'"
)

_ENDED = text(
    "INSERT INTO work_orders (id, team_id, job_id, kind, device, backend, status, request, problem_hash, claim_token, "
    "attempts, created_at, updated_at, charged_s) "
    "SELECT 'ended-' || n, team_id, 'ended-' || n, kind, device, backend, 'done', request, problem_hash, 1, 1, "
    "created_at, updated_at, 1 FROM work_orders, generate_series(1, :count) n WHERE job_id = 'job-0'"
)


async def many(database: Database, count: int, *, tag: str = "nightly", expired: int = 0) -> SqlJobStore:
    """A job and so many copies of it that have ended."""
    store = SqlJobStore(database, FrozenClock())
    await store.create(replace(a_job("job-1"), spec=replace(a_job().spec, tags=(tag,))))
    values = {"count": count, "expired": expired}
    await database.write(lambda connection: connection.execute(_COPIES, values))
    await database.outside(lambda connection: connection.execute(text("VACUUM ANALYZE jobs")))
    return store


def pages(connection: Connection, statement: str) -> int:
    """Pages that a statement looks at."""
    (plan,) = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}").scalar_one()
    return int(plan["Plan"]["Shared Hit Blocks"]) + int(plan["Plan"]["Shared Read Blocks"])


async def test_retention_does_not_read_what_expired_before(postgres_address: str) -> None:
    database = Database(postgres_address)
    await many(database, 5000, expired=TRAJECTORIES)
    late = FrozenClock().now() + timedelta(days=1)

    def work(connection: Connection) -> int:
        query = expiring(TRAJECTORIES, late).limit(50)
        return pages(connection, str(query.compile(connection, compile_kwargs={"literal_binds": True})))

    assert await database.read(work) <= 20
    await database.close()


async def test_a_tag_that_is_part_of_many_others_is_asked_for_once(postgres_address: str) -> None:
    database = Database(postgres_address)
    store = await many(database, 300)
    asked: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        asked.append(statement)

    await database.read(lambda connection: event.listen(connection.engine, "before_cursor_execute", note))
    page = await store.list("local", wanted=JobFilter(tags=("night",)), limit=10)
    assert page.jobs == ()
    assert len(asked) == 1, asked
    await database.close()


async def test_a_content_that_thousands_of_jobs_name_is_found_used_by_one_of_them(postgres_address: str) -> None:
    database = Database(postgres_address)
    await many(database, 5000)
    await database.write(lambda connection: connection.execute(text("ANALYZE")))  # as autovacuum does before long
    asked: list[tuple[str, object]] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: object, *_rest: object) -> None:
        asked.append((statement, parameters))

    def work(connection: Connection) -> int:
        hashes = connection.execute(text("SELECT hash FROM blobs")).scalars().all()
        event.listen(connection, "before_cursor_execute", note)
        assert remove_unused(connection, "local", hashes).contents == 0
        statement, parameters = next(one for one in asked if "EXISTS" in one[0])
        plan = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters)  # type: ignore[arg-type]
        return sum(_rows(plan.scalar_one()[0]["Plan"]))

    assert await database.write(work) < 200
    await database.close()


async def test_whose_turn_it_is_is_found_beside_thousands_of_orders_that_ended(postgres_address: str) -> None:
    database, clock = Database(postgres_address), FrozenClock()
    orders = SqlWorkStore(database, clock)
    for number in range(100):
        request = an_evaluation_request(a_candidate(f"job-{number}", 0, team_id=f"team-{number % 2}"))
        await orders.place(order_of(request))
    await database.write(lambda connection: connection.execute(_ENDED, {"count": 20_000}))
    asked: list[tuple[str, object]] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: object, *_rest: object) -> None:
        asked.append((statement, parameters))

    def work(connection: Connection) -> int:
        event.listen(connection, "before_cursor_execute", note)
        offer = Offer(device="cpu", backends=("cpp",), evaluator="referee 1")
        assert next_order(connection, "worker", offer, clock.now()) is not None
        ((statement, parameters),) = asked
        plan = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters)  # type: ignore[arg-type]
        return sum(_rows(plan.scalar_one()[0]["Plan"]))

    assert await database.write(work) < 1000, "nothing that ended, and the 100 open orders a few times"
    await database.close()


def _rows(plan: dict[str, object]) -> list[int]:
    """How many rows each scan of a plan gave, all its repetitions together."""
    below = [row for part in plan.get("Plans", []) for row in _rows(part)]  # type: ignore[attr-defined]
    return (
        [int(str(plan["Actual Rows"])) * int(str(plan["Actual Loops"])), *below]
        if "Scan" in str(plan["Node Type"])
        else below
    )
