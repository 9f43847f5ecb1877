"""A device node with a database role of its own: it does its work, and reads and changes nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from services.runtime.clock import SystemClock
from storage.contents.blobs import SqlArtefactStore
from storage.database import Database
from tests.faults.ground import UnavailableError
from tests.faults.installation import Installation
from tests.faults.rows import ground

pytestmark = pytest.mark.integration

ROLE = Path(__file__).resolve().parents[2] / "storage" / "roles" / "worker.sql"
FORBIDDEN = (
    "SELECT content FROM blobs",
    "SELECT digest FROM api_tokens",
    "SELECT digest FROM sessions",
    "SELECT login FROM users",
    "SELECT secret FROM webhooks",
    "SELECT prompt_blob FROM model_calls",
    "SELECT data FROM events",
    "SELECT spec FROM jobs",
    "SELECT text FROM experiences",
    "SELECT * FROM memory_log",
    "SELECT * FROM checkpoints",
    "SELECT actor FROM audit_log",
    "UPDATE jobs SET status = 'solved'",
    "UPDATE teams SET weight = 1000",
    "UPDATE blobs SET content = ''",
    "UPDATE work_orders SET team_id = 'local'",
    "DELETE FROM work_orders",
    "INSERT INTO work_orders (id) VALUES ('mine')",
    "INSERT INTO audit_log (actor) VALUES ('nobody')",
    "TRUNCATE work_orders",
    "CREATE TABLE own (id int)",
)


@pytest.fixture
def place() -> Iterator[Installation]:
    try:
        with ground() as installation:
            yield installation
    except UnavailableError as error:
        pytest.skip(str(error))


def test_a_node_works_with_a_role_that_sees_work_orders_only(place: Installation) -> None:
    place.postgres.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    for _ in range(2):  # again is harmless
        place.postgres.execute(ROLE.read_text())
    place.postgres.execute("CREATE ROLE node1 LOGIN IN ROLE kernelwright_worker")
    limited = make_url(place.postgres.url).set(username="node1").render_as_string(hide_password=False)

    place.orchestrator(KERNELWRIGHT_LEASE_S="15")
    place.worker(KERNELWRIGHT_DATABASE_URL=limited)
    jobs = place.submit(2)
    place.wait(jobs)
    place.check(jobs)
    owners = place.postgres.rows("SELECT count(*) FROM pg_stat_activity WHERE usename = 'node1'")
    assert owners[0][0] != 0, "the worker is connected as the limited role"

    address = make_url(limited).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in FORBIDDEN:
            with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedColumn)) as refused:
                connection.execute(statement.encode())
            assert isinstance(refused.value, psycopg.errors.InsufficientPrivilege), statement
        texts = "SELECT count(*) FROM order_texts('local', (SELECT array_agg(hash) FROM blobs))"
        named = connection.execute(texts.encode()).fetchone()
        hashes = "SELECT problem_hash h FROM work_orders UNION SELECT source_hash FROM work_orders"
        orders = f"SELECT count(DISTINCT h) FROM ({hashes}) x".encode()
        assert named == connection.execute(orders).fetchone(), "texts that orders name, and no others"


async def test_a_node_keeps_machine_code_and_says_that_it_is_there(place: Installation) -> None:
    place.postgres.execute(ROLE.read_text())
    place.postgres.execute("CREATE ROLE node1 LOGIN IN ROLE kernelwright_worker")
    place.orchestrator(KERNELWRIGHT_LEASE_S="15")
    (job,) = place.submit()
    database = Database(make_url(place.postgres.url).set(username="node1").render_as_string(hide_password=False))
    await database.check()
    store = SqlArtefactStore(database, SystemClock())
    keys = {await store.put("local", b"listing", job_id=job) for _ in range(2)}
    await database.close()
    (key,) = keys
    assert place.postgres.rows("SELECT convert_from(content, 'UTF8') FROM blobs WHERE hash = %s", key) == [("listing",)]
    assert place.postgres.rows("SELECT job_id FROM job_artefacts WHERE hash = %s", key) == [(job,)]
