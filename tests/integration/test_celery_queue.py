"""The Celery queue with a real broker, a real worker and its real children."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio
import redis
from celery import Celery

from services.adapters.queues.celery_queue import CeleryQueue
from services.adapters.queues.notifier import TASK, WorkNotifier, device_queue
from services.domain.evaluations import EvaluationRequest, Verdict
from services.domain.jobs import JobSpec
from services.domain.validations import ValidationRequest
from services.domain.work import order_of
from services.runtime.clock import SystemClock
from storage.database import Database
from storage.jobs.store import SqlJobStore
from storage.jobs.work_orders import SqlWorkStore
from tests.doubles import a_candidate, a_job, a_problem, a_report, an_evaluation_request
from tests.waiting import eventually
from workers.queue.tasks import CelerySettings, create_app, queues_of

pytestmark = pytest.mark.integration

BROKER = os.environ.get("KERNELWRIGHT_TEST_REDIS", "redis://127.0.0.1:6379/15")
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A queue, and what its worker did."""

    queue: CeleryQueue
    app: Celery
    device: str
    log: Path
    jobs: SqlJobStore
    workers: list[subprocess.Popen[bytes]]
    """Those that were started, the first by the fixture."""
    start_worker: Callable[[], None]

    def evaluation(self, source: str, step: int = 0, job_id: str = "job-1") -> EvaluationRequest:
        return replace(an_evaluation_request(a_candidate(job_id, step, source=source)), device=self.device)

    def did(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


def broker() -> redis.Redis:
    client = redis.Redis.from_url(BROKER)
    try:
        client.ping()
    except redis.ConnectionError as error:
        pytest.skip(f"no Redis ({error}): set KERNELWRIGHT_TEST_REDIS to the address of a database for tests")
    return client


@pytest_asyncio.fixture
async def setup(tmp_path: Path) -> AsyncIterator[Setup]:
    client = broker()
    async with opened(BROKER, tmp_path) as made:
        yield made
    for key in client.scan_iter(f"*{made.device}*"):
        client.delete(key)
    client.close()


@asynccontextmanager
async def opened(broker_url: str, folder: Path, workers_url: str | None = None) -> AsyncIterator[Setup]:
    """A queue over a broker, and its worker, which may have an account of its own."""
    device, log = f"test-{uuid.uuid4().hex[:8]}", folder / "did.txt"
    address = f"sqlite:///{folder / 'kernelwright.db'}"
    database = Database(address)
    await database.upgrade()
    environment = {
        **os.environ,
        "TEST_BROKER": workers_url or broker_url,
        "TEST_DATABASE": address,
        "TEST_LOG": str(log),
    }
    environment["TEST_DEVICE"] = device
    command = [sys.executable, "-m", "celery", "-A", "tests.integration.celery_worker", "worker", "--loglevel"]
    command += ["WARNING", "-Q", queues_of(device), "-n", f"{device}@here", "--concurrency", "1"]
    workers: list[subprocess.Popen[bytes]] = []

    def start_worker() -> None:
        with (folder / "worker.txt").open("ab") as output:
            workers.append(
                subprocess.Popen(
                    command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
                )
            )

    start_worker()
    app = create_app(CelerySettings(broker_url=broker_url))
    queue = CeleryQueue(app, SqlWorkStore(database, SystemClock()), SystemClock(), poll_s=0.05, sweep_s=3.0)
    try:
        yield Setup(
            queue=queue,
            app=app,
            device=device,
            log=log,
            jobs=SqlJobStore(database, SystemClock()),
            workers=workers,
            start_worker=start_worker,
        )
    finally:
        await queue.close()
        for worker in workers:
            await asyncio.to_thread(end, worker)
        await database.close()
        app.close()


def end(worker: subprocess.Popen[bytes]) -> None:
    """Stop the worker and whatever it started."""
    worker.send_signal(signal.SIGTERM)
    try:
        worker.wait(15)
    except subprocess.TimeoutExpired:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


async def test_a_worker_validates_evaluates_and_does_nothing_twice(setup: Setup) -> None:
    request = ValidationRequest(
        job_id="job-1", team_id="local", problem=a_problem(), device=setup.device, backend="cpp"
    )
    validated = await asyncio.wait_for(setup.queue.validate(request), 60)
    assert validated.analysis is not None
    evaluations = [setup.evaluation("ok", step) for step in range(3)]
    reports = await asyncio.wait_for(asyncio.gather(*map(setup.queue.evaluate, evaluations * 2)), 60)
    assert reports == [a_report()] * 6
    setup.app.send_task(TASK, queue=device_queue(setup.device))
    await asyncio.wait_for(setup.queue.evaluate(setup.evaluation("ok", 9)), 60)
    assert sorted(setup.did()) == sorted(
        ["validate job-1", *(f"ok {setup.evaluation('ok', step).candidate_id}" for step in (0, 1, 2, 9))]
    )


async def test_a_poisonous_order_ends_and_the_worker_lives_on(setup: Setup) -> None:
    report = await asyncio.wait_for(setup.queue.evaluate(setup.evaluation("die")), 90)
    assert report.verdict is Verdict.INFRASTRUCTURE_ERROR
    assert "died 3 times" in report.gates[0].detail
    assert len([line for line in setup.did() if line.startswith("die")]) == 3
    assert await asyncio.wait_for(setup.queue.evaluate(setup.evaluation("ok", 1)), 60) == a_report()


async def test_a_worker_whose_device_is_gone_ends_by_itself_and_another_does_its_order(setup: Setup) -> None:
    asked = [asyncio.create_task(setup.queue.evaluate(setup.evaluation("lose")))]
    await eventually(lambda: any(line.startswith("lose") for line in setup.did()))
    asked += [asyncio.create_task(setup.queue.evaluate(setup.evaluation("ok", step))) for step in (1, 2)]
    assert await asyncio.to_thread(setup.workers[0].wait, 30) == 0
    assert len([line for line in setup.did() if line.startswith(("lose", "ok"))]) == 1, "it took nothing more"
    assert not any(task.done() for task in asked)
    setup.start_worker()
    assert await asyncio.wait_for(asyncio.gather(*asked), 60) == [a_report()] * 3


async def test_another_team_and_an_urgent_job_go_before_thirty_orders_that_wait(setup: Setup) -> None:
    await another_team_and_an_urgent_job_go_first(setup)


async def another_team_and_an_urgent_job_go_first(setup: Setup) -> None:
    """Thirty jobs of one team wait, then one of another team and one of priority 100: those two start next."""
    blocker = asyncio.create_task(setup.queue.evaluate(setup.evaluation("hang", job_id="a-first")))
    await eventually(lambda: any(line.startswith("hang") for line in setup.did()))
    many = [setup.evaluation("wait 0.02", job_id=f"a-{number:02}") for number in range(30)]
    waiting = [asyncio.create_task(setup.queue.evaluate(request)) for request in many]
    messages = WorkNotifier(setup.app, SystemClock())
    while await messages.length(setup.device) < 30:  # noqa: ASYNC110 - another process counts them
        await asyncio.sleep(0.05)
    urgent = a_job("a-urgent", spec=JobSpec(problem=a_problem(), priority=100))
    await setup.jobs.create(urgent)
    other = replace(setup.evaluation("of b", job_id="b-only"), team_id="b")
    last = [setup.evaluation("urgent", job_id="a-urgent"), other]
    waiting += [asyncio.create_task(setup.queue.evaluate(request)) for request in last]
    await asyncio.sleep(0.5)  # both are placed
    await setup.queue.cancel("a-first")
    assert await asyncio.wait_for(asyncio.gather(*waiting), 60) == [a_report()] * 32
    assert (await blocker).verdict is Verdict.INFRASTRUCTURE_ERROR
    began = [line for line in setup.did() if line.startswith(("wait", "urgent", "of b"))]
    assert [line.rpartition(" ")[0] for line in began[:3]] == ["of b", "urgent", "wait 0.02"]
    assert len(began) == 32


async def test_a_cancelled_job_frees_its_worker(setup: Setup) -> None:
    hanging = asyncio.create_task(setup.queue.evaluate(setup.evaluation("hang")))
    await eventually(lambda: any(line.startswith("hang") for line in setup.did()))
    await setup.queue.cancel("job-1")
    assert (await asyncio.wait_for(hanging, 60)).verdict is Verdict.INFRASTRUCTURE_ERROR
    await eventually(lambda: "freed job-1" in setup.did())
    assert await asyncio.wait_for(setup.queue.evaluate(setup.evaluation("ok", 1, "job-2")), 60) == a_report()


async def test_a_worker_frees_what_it_kept_for_a_job_that_has_ended(setup: Setup) -> None:
    assert await asyncio.wait_for(setup.queue.evaluate(setup.evaluation("ok")), 60) == a_report()
    assert "freed job-1" not in setup.did()
    await setup.queue.cancel("job-1")
    await eventually(lambda: "freed job-1" in setup.did())
    await asyncio.sleep(0.3)
    assert setup.did().count("freed job-1") == 1


async def test_an_order_whose_message_was_lost_is_rung_for_again(setup: Setup) -> None:
    blocker = asyncio.create_task(setup.queue.evaluate(setup.evaluation("hang", 0, "job-0")))
    await eventually(lambda: any(line.startswith("hang") for line in setup.did()))
    lost = asyncio.create_task(setup.queue.evaluate(setup.evaluation("ok", 1)))
    client = broker()
    await eventually(lambda: client.llen(device_queue(setup.device)))
    client.delete(device_queue(setup.device))
    client.close()
    await setup.queue.cancel("job-0")
    assert await asyncio.wait_for(lost, 60) == a_report()
    assert (await blocker).verdict is Verdict.INFRASTRUCTURE_ERROR


async def test_a_broker_out_of_reach_is_an_infrastructure_error(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'kernelwright.db'}")
    await database.upgrade()
    app = create_app(CelerySettings(broker_url="redis://127.0.0.1:1/0"))
    clock = SystemClock()
    queue = CeleryQueue(app, SqlWorkStore(database, clock), clock, sweep_s=0.2, give_up_s=0.5)
    request = an_evaluation_request(a_candidate())
    report = await asyncio.wait_for(queue.evaluate(request), 60)
    assert report.verdict is Verdict.INFRASTRUCTURE_ERROR
    assert "broker" in report.gates[0].detail
    assert (await SqlWorkStore(database, clock).state(order_of(request).id)).status == "queued"
    await database.close()
    app.close()
