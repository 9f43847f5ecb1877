"""Workers' statements through a real PgBouncer in transaction mode."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url, text

from services.domain.errors import ConfigurationError, StorageError
from services.domain.nodes import Offer
from services.domain.work import order_of
from services.runtime.clock import SystemClock
from storage.database import Database
from storage.jobs.work_orders import SqlWorkStore
from tests.databases import postgres_database
from tests.doubles import a_candidate, a_report, an_evaluation_request
from tests.faults.ground import folder
from tests.ports import a_free_port
from tests.waiting import until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("pgbouncer") is None, reason="no PgBouncer: apt-get install pgbouncer"),
]

OFFER = Offer(device="cpu", backends=("cpp",), evaluator="referee 1")
WORKERS, SESSIONS, ORDERS = 12, 3, 36
"""Four workers share a session of the server."""
STATEMENT_S = 2


class Pooler:
    """A PgBouncer in front of one database."""

    def __init__(self, place: Path, database: str) -> None:
        self.direct = database
        url = make_url(database)
        self._port = a_free_port()
        self.url = url.set(port=self._port, host="127.0.0.1").render_as_string(hide_password=False)
        (place / "users").write_text(f'"{url.username}" ""\n')
        limit = f"connect_query='SET statement_timeout = {STATEMENT_S * 1000}'"
        (place / "pgbouncer.ini").write_text(
            f"""[databases]
{url.database} = host={url.host} port={url.port or 5432} user={url.username} {limit}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self._port}
unix_socket_dir =
auth_type = any
auth_file = {place}/users
pool_mode = transaction
default_pool_size = {SESSIONS}
max_client_conn = 500
admin_users = {url.username}
"""
        )
        as_user = ["setpriv", "--reuid", "nobody", "--clear-groups"] if os.geteuid() == 0 else []
        self._process = subprocess.Popen(
            [*as_user, "pgbouncer", place / "pgbouncer.ini"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        until(self._answers, "PgBouncer's first answer")

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=10)

    def _answers(self) -> bool:
        assert self._process.poll() is None, self._process.communicate()[1].decode()[-1000:]
        try:
            with psycopg.connect(make_url(self.url).set(drivername="postgresql").render_as_string(), connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False


@pytest.fixture
def pooler() -> Iterator[Pooler]:
    with postgres_database() as address, folder() as place:
        made = Pooler(place, address)
        try:
            yield made
        finally:
            made.close()


async def test_many_workers_do_their_orders_over_few_sessions(pooler: Pooler) -> None:
    direct, clock = Database(pooler.direct), SystemClock()
    await direct.upgrade()
    orders = SqlWorkStore(direct, clock)
    for number in range(ORDERS):
        request = replace(an_evaluation_request(a_candidate(f"job-{number}")), team_id=f"team-{number % 3}")
        await orders.place(order_of(request))

    databases = [Database(f"{pooler.url}?pooler=transaction") for _ in range(WORKERS)]
    done: list[str] = []

    async def work(number: int) -> None:
        store = SqlWorkStore(databases[number], clock)
        while (claim := await store.take(f"worker-{number}", 30, OFFER)) is not None:
            for _ in range(8):  # more than psycopg waits before it prepares a statement
                assert await store.renew(claim, 30)
            assert await store.finish(claim, a_report())
            done.append(claim.order.id)

    await asyncio.gather(*(work(number) for number in range(WORKERS)))
    query = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
    sessions = await direct.read(lambda connection: connection.execute(query).scalar_one())
    assert len(done) == len(set(done)) == ORDERS
    assert sessions <= SESSIONS + 2, "those of the workers, and of the test itself"
    await asyncio.gather(direct.close(), *(database.close() for database in databases))


async def test_the_poolers_own_setting_limits_statements(pooler: Pooler) -> None:
    database = Database(f"{pooler.url}?pooler=transaction")
    with pytest.raises(StorageError, match="took too long"):
        await database.read(lambda connection: connection.execute(text(f"SELECT pg_sleep({STATEMENT_S + 20})")).all())
    await database.close()


async def test_an_address_that_does_not_name_the_pooler_is_refused_with_the_remedy(pooler: Pooler) -> None:
    database = Database(pooler.url)
    with pytest.raises(StorageError, match="pooler=transaction"):
        await database.read(lambda connection: connection.execute(text("SELECT 1")).all())
    await database.close()


async def test_what_needs_a_session_is_refused_with_the_remedy(pooler: Pooler) -> None:
    database = Database(f"{pooler.url}?pooler=transaction")
    with pytest.raises(ConfigurationError, match="own address"):
        await database.outside(lambda connection: connection.execute(text("SELECT 1")).all())
    await database.close()


def test_another_kind_of_pooler_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="only 'transaction'"):
        Database("postgresql://localhost/x?pooler=session")
