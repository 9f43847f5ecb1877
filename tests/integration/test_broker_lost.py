"""A real worker whose broker is killed while it works."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from services.adapters.queues.celery_queue import CeleryQueue
from services.domain.evaluations import EvaluationRequest
from services.runtime.clock import SystemClock
from storage.database import Database
from storage.jobs.work_orders import SqlWorkStore
from tests.doubles import a_candidate, a_report, an_evaluation_request
from tests.faults.ground import RedisServer, UnavailableError, redis_server
from tests.integration.test_celery_queue import ROOT, end
from tests.waiting import eventually
from workers.queue.tasks import CelerySettings, create_app, worker_options

pytestmark = pytest.mark.integration


@pytest.fixture
def broker() -> Iterator[RedisServer]:
    try:
        with redis_server() as server:
            yield server
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("works_s", "away_s"), [(1, 3), (9, 1)], ids=["ends meanwhile", "ends afterwards"])
async def test_a_worker_that_was_busy_when_its_broker_died_works_on(
    broker: RedisServer, tmp_path: Path, works_s: int, away_s: int
) -> None:
    address, log = f"sqlite:///{tmp_path / 'kernelwright.db'}", tmp_path / "did.txt"
    database = Database(address)
    await database.upgrade()
    queue = CeleryQueue(
        create_app(CelerySettings(broker_url=broker.url)), SqlWorkStore(database, SystemClock()), SystemClock()
    )
    worker = started_worker(broker, address, log, tmp_path / "worker.txt")
    try:
        first = asyncio.create_task(queue.evaluate(request(f"wait {works_s}", 0)))
        await eventually(log.exists)
        broker.kill()
        await asyncio.sleep(away_s)
        broker.start()
        assert await asyncio.wait_for(first, 60) == a_report()
        for step in (1, 2):
            assert await asyncio.wait_for(queue.evaluate(request("ok", step)), 60) == a_report()
        assert worker.poll() is None, (tmp_path / "worker.txt").read_text()[-3000:]
        assert len(log.read_text().splitlines()) == 3, "something was done twice"
    finally:
        await queue.close()
        await asyncio.to_thread(end, worker)
        await database.close()


def started_worker(broker: RedisServer, database: str, log: Path, output: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "celery", "-A", "tests.integration.celery_worker", "worker", "--loglevel", "INFO"]
    command += worker_options("cpu", "cpu@here")
    environment = {**os.environ, "TEST_BROKER": broker.url, "TEST_DATABASE": database, "TEST_LOG": str(log)}
    environment["TEST_DEVICE"] = "cpu"
    with output.open("wb") as file:
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )


def request(source: str, step: int) -> EvaluationRequest:
    return replace(an_evaluation_request(a_candidate("job-1", step, source=source)), device="cpu")
