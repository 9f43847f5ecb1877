"""The health check of workers: a task must have run, a process that is up is not enough."""

from __future__ import annotations

import asyncio

import pytest

from services.domain.errors import QueueError
from tests.integration.test_celery_queue import Setup, setup  # noqa: F401 - a fixture
from workers.queue.health_check import ask
from workers.queue.tasks import CelerySettings, create_app

pytestmark = pytest.mark.integration


async def test_a_worker_that_does_tasks_answers(setup: Setup) -> None:  # noqa: F811 - the fixture
    worker = await asyncio.to_thread(ask, setup.app, setup.device, 30.0)
    assert worker == f"{setup.device}@here"


async def test_a_worker_that_is_at_work_counts_as_well(setup: Setup) -> None:  # noqa: F811
    assert await asyncio.to_thread(ask, setup.app, setup.device, 30.0)
    evaluating = asyncio.create_task(setup.queue.evaluate(setup.evaluation("hang")))
    while not setup.did():  # noqa: ASYNC110 - another process does it
        await asyncio.sleep(0.05)
    assert await asyncio.to_thread(ask, setup.app, setup.device, 0.5) == f"{setup.device}@here (at work)"
    await setup.queue.cancel("job-1")
    await evaluating


async def test_nobody_answers_for_a_device_without_workers(setup: Setup) -> None:  # noqa: F811
    assert await asyncio.to_thread(ask, setup.app, "no-such-device", 0.5) is None


def test_a_broker_out_of_reach_is_said() -> None:
    app = create_app(CelerySettings(broker_url="redis://127.0.0.1:1/0"))
    with pytest.raises(QueueError, match="cannot be reached"):
        ask(app, "cpu", 1.0)
