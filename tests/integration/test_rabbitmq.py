"""RabbitMQ as the broker: the queue with a real worker, turns, lost messages, a lost connection."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from amqp.exceptions import AMQPError
from kombu import Connection, Queue

from kernelwright.admission import broker_time
from services.adapters.queues.notifier import WorkNotifier, device_queue
from services.domain.errors import QueueError
from services.domain.evaluations import Verdict
from services.runtime.clock import SystemClock
from tests.doubles import a_report
from tests.integration.test_celery_queue import Setup, another_team_and_an_urgent_job_go_first, opened
from tests.ports import a_free_port
from tests.relay import Relay
from tests.waiting import eventually
from workers.queue.health_check import ask
from workers.queue.tasks import CelerySettings, create_app

pytestmark = pytest.mark.integration

SERVER = os.environ.get("KERNELWRIGHT_TEST_RABBITMQ", "amqp://guest:guest@127.0.0.1:5672")


@pytest.fixture
def rabbitmq() -> str:
    """The server's address, without a virtual host."""
    try:
        with Connection(f"{SERVER}//", connect_timeout=3) as connection:
            connection.connect()
    except (AMQPError, OSError) as error:
        pytest.skip(f"no RabbitMQ ({error}): set KERNELWRIGHT_TEST_RABBITMQ to amqp://USER:PASSWORD@HOST:PORT")
    return SERVER


@pytest_asyncio.fixture
async def setup(rabbitmq: str, tmp_path: Path) -> AsyncIterator[Setup]:
    async with opened(f"{rabbitmq}//", tmp_path) as made:
        yield made
        await asyncio.to_thread(forget, made)


def forget(setup: Setup) -> None:
    """A queue of RabbitMQ stays until somebody deletes it."""
    with setup.app.connection_for_write() as connection:
        Queue(device_queue(setup.device), channel=connection.channel()).delete()


async def test_another_team_and_an_urgent_job_go_before_thirty_orders_that_wait(setup: Setup) -> None:
    await another_team_and_an_urgent_job_go_first(setup)


async def test_a_poisonous_order_ends_and_the_worker_lives_on(setup: Setup) -> None:
    report = await asyncio.wait_for(setup.queue.evaluate(setup.evaluation("die")), 90)
    assert "died 3 times" in report.gates[0].detail
    assert await asyncio.wait_for(setup.queue.evaluate(setup.evaluation("ok", 1)), 60) == a_report()


async def test_a_cancelled_job_frees_its_worker_and_a_lost_message_is_sent_again(setup: Setup) -> None:
    hanging = asyncio.create_task(setup.queue.evaluate(setup.evaluation("hang", job_id="job-0")))
    await eventually(lambda: any(line.startswith("hang") for line in setup.did()))
    assert await asyncio.to_thread(ask, setup.app, setup.device, 0.5) == f"{setup.device}@here (at work)"
    lost = asyncio.create_task(setup.queue.evaluate(setup.evaluation("ok", 1)))
    waiting = WorkNotifier(setup.app, SystemClock())
    while await waiting.length(setup.device) == 0:  # noqa: ASYNC110 - another process counts them
        await asyncio.sleep(0.05)
    with setup.app.connection_for_write() as connection:
        Queue(device_queue(setup.device), channel=connection.channel()).purge()
    await setup.queue.cancel("job-0")
    assert (await asyncio.wait_for(hanging, 60)).verdict is Verdict.INFRASTRUCTURE_ERROR
    assert await asyncio.wait_for(lost, 60) == a_report()
    await eventually(lambda: "freed job-0" in setup.did())
    assert await asyncio.to_thread(ask, setup.app, setup.device, 30.0) == f"{setup.device}@here"


async def test_a_worker_that_was_busy_when_its_connection_broke_works_on(rabbitmq: str, tmp_path: Path) -> None:
    host, _, port = rabbitmq.rpartition("@")[2].partition(":")
    account = rabbitmq.rpartition("@")[0]
    with Relay(host, int(port or 5672)) as relay:
        async with opened(f"{account}@127.0.0.1:{relay.port}//", tmp_path) as setup:
            first = asyncio.create_task(setup.queue.evaluate(setup.evaluation("wait 1")))
            await eventually(lambda: setup.did())
            relay.cut()
            await asyncio.sleep(3)
            relay.mend()
            assert await asyncio.wait_for(first, 60) == a_report()
            assert await asyncio.wait_for(setup.queue.evaluate(setup.evaluation("ok", 1)), 60) == a_report()
            assert len([line for line in setup.did() if line.startswith(("wait", "ok"))]) == 2
            await asyncio.to_thread(forget, setup)


async def test_nobody_who_rings_waits_for_a_rabbitmq_that_is_away() -> None:
    address = f"amqp://guest:guest@127.0.0.1:{a_free_port()}//"
    notifier = WorkNotifier(create_app(CelerySettings(broker_url=address)), SystemClock())
    with pytest.raises(QueueError, match="cannot be reached"):
        await asyncio.wait_for(notifier.length(f"test-{uuid.uuid4().hex[:8]}"), 60)
    await asyncio.wait_for(notifier.tell_ended("job-1"), 60)


def test_a_worker_is_admitted_without_a_clock_to_compare_and_told_when_the_broker_is_away(rabbitmq: str) -> None:
    assert broker_time(f"{rabbitmq}//", attempts_s=0) is None
    with pytest.raises(QueueError, match="KERNELWRIGHT_BROKER_URL"):
        broker_time(f"amqp://guest:guest@127.0.0.1:{a_free_port()}//", attempts_s=0)
