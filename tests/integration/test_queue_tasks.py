"""What goes on beside the waiting goes on after a fault of the program too."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from services.adapters.queues.celery_queue import CeleryQueue
from services.domain.nodes import Offer
from services.domain.work import WorkState
from services.runtime.clock import SystemClock
from tests.doubles import InMemoryDatabase, InMemoryWorkStore, a_candidate, a_report, an_evaluation_request
from tests.ports import a_free_port
from workers.queue.tasks import CelerySettings, create_app

pytestmark = pytest.mark.integration


class FaultyOnce(InMemoryWorkStore):
    """Its first look at what has ended meets a fault that nobody thought of."""

    def __init__(self) -> None:
        super().__init__(InMemoryDatabase(clock=SystemClock()))
        self.failed = asyncio.Event()

    async def ended(self, order_ids: Sequence[str]) -> Mapping[str, WorkState]:
        if not self.failed.is_set():
            self.failed.set()
            raise RuntimeError("nobody thought of this")
        return await super().ended(order_ids)


async def test_answers_are_handed_out_after_a_look_that_failed() -> None:
    orders = FaultyOnce()
    app = create_app(CelerySettings(broker_url=f"redis://127.0.0.1:{a_free_port()}/0"))
    queue = CeleryQueue(app, orders, SystemClock(), poll_s=0.02)
    request = an_evaluation_request(a_candidate())
    asked = asyncio.create_task(queue.evaluate(request))
    await asyncio.wait_for(orders.failed.wait(), 60)
    offer = Offer(device=request.device, backends=(request.backend,), evaluator="none")
    claim = await orders.take("worker", 30.0, offer)
    assert claim is not None
    await orders.finish(claim, a_report())
    assert await asyncio.wait_for(asked, 60) == a_report()
    await queue.close()
