"""What every evaluation queue does, whoever does its orders."""

from __future__ import annotations

import asyncio

import pytest

from services.adapters.queues.celery_queue import CeleryQueue
from services.adapters.queues.order_queue import OrderQueue, Wait
from services.domain.errors import InfrastructureError, QueueError
from services.domain.evaluations import EvaluationRequest, Verdict
from services.domain.nodes import Offer
from services.domain.validations import ValidationReport, ValidationRequest
from services.domain.work import Report, Request, WorkOrder, WorkState, order_of
from services.runtime.clock import SystemClock
from tests.doubles import (
    InMemoryDatabase,
    InMemoryWorkStore,
    a_candidate,
    a_problem,
    a_report,
    an_evaluation_request,
)
from tests.waiting import eventually
from workers.queue.tasks import CelerySettings, create_app

EVALUATION = an_evaluation_request(a_candidate())
VALIDATION = ValidationRequest(job_id="job-1", team_id="local", problem=a_problem(), device="cpu", backend="cpp")


class ByHand(OrderQueue[Wait]):
    """Orders that the test ends."""

    def __init__(self) -> None:
        super().__init__(None, None)
        self.begun: list[str] = []
        self.fault: Exception | None = None

    def _wait(self, request: Request) -> Wait:
        return Wait(request=request)

    async def _begin(self, key: str, wait: Wait) -> None:
        self.begun.append(key)
        if self.fault is not None:
            raise self.fault

    async def cancel(self, job_id: str) -> None:
        for wait in self._taken(job_id):
            wait.end(InfrastructureError("the job was cancelled"))

    def answer(self, request: Request, outcome: Report | InfrastructureError) -> None:
        key = order_of(request).id
        self._end(key, self._waiting[key], outcome)


async def asked(queue: ByHand, request: EvaluationRequest = EVALUATION, times: int = 1) -> list[asyncio.Task[object]]:
    tasks: list[asyncio.Task[object]] = [asyncio.create_task(queue.evaluate(request)) for _ in range(times)]
    await eventually(lambda: queue.begun)
    return tasks


async def test_an_order_is_begun_once_and_answers_all_who_ask() -> None:
    queue = ByHand()
    tasks = await asked(queue, times=3)
    queue.answer(EVALUATION, a_report())
    assert await asyncio.gather(*tasks) == [a_report()] * 3
    assert queue.begun == [EVALUATION.evaluation_id]


async def test_who_asks_after_the_end_begins_anew() -> None:
    queue = ByHand()
    for median_us in (1.0, 2.0):
        queue.begun.clear()
        (task,) = await asked(queue)
        queue.answer(EVALUATION, a_report(median_us=median_us))
        assert await task == a_report(median_us=median_us)


@pytest.mark.parametrize(("fault", "told"), [(QueueError("no broker"), "no broker"), (KeyError("x"), "KeyError")])
async def test_what_cannot_begin_is_the_machines_failure(fault: Exception, told: str) -> None:
    queue = ByHand()
    queue.fault = fault
    report = await queue.evaluate(EVALUATION)
    assert report.verdict is Verdict.INFRASTRUCTURE_ERROR
    assert told in report.gates[0].detail
    with pytest.raises(InfrastructureError, match=told):
        await queue.validate(VALIDATION)


async def test_an_answer_of_another_kind_is_the_machines_failure() -> None:
    queue = ByHand()
    (task,) = await asked(queue)
    queue.answer(EVALUATION, ValidationReport(analysis=None, refusal=None, device=None))
    report = await task
    assert getattr(report, "verdict", None) is Verdict.INFRASTRUCTURE_ERROR


async def test_a_closed_queue_ends_what_waits_and_takes_nothing() -> None:
    queue = ByHand()
    (task,) = await asked(queue)
    await queue.close()
    assert getattr(await task, "verdict", None) is Verdict.INFRASTRUCTURE_ERROR
    with pytest.raises(QueueError, match="is closed"):
        await queue.validate(VALIDATION)


async def test_a_cancelled_order_that_is_asked_for_again_is_not_ended_by_its_earlier_end() -> None:
    clock = SystemClock()
    orders = InMemoryWorkStore(InMemoryDatabase(clock=clock))
    app = create_app(CelerySettings(broker_url="memory://"))
    queue = CeleryQueue(app, orders, clock, poll_s=0.005)
    for _ in range(3):
        waiting = asyncio.create_task(queue.evaluate(EVALUATION))
        await asyncio.sleep(0.02)
        await queue.cancel(EVALUATION.job_id)
        assert (await waiting).gates[0].detail == "the job was cancelled"
    again = asyncio.create_task(queue.evaluate(EVALUATION))
    await asyncio.sleep(0.02)
    claim = await orders.take("worker", 60.0, Offer(device="cpu", backends=("cpp",), evaluator="one"))
    assert claim is not None
    await orders.finish(claim, a_report())
    assert await asyncio.wait_for(again, 60) == a_report()
    await queue.close()
    app.close()


async def test_an_order_that_is_being_placed_when_its_job_is_cancelled_is_withdrawn_too() -> None:
    clock, held = SystemClock(), asyncio.Event()
    store = InMemoryWorkStore(InMemoryDatabase(clock=clock))
    place = store.place

    async def slowly(order: WorkOrder) -> WorkState:
        await held.wait()
        return await place(order)

    store.place = slowly  # type: ignore[method-assign]
    app = create_app(CelerySettings(broker_url="memory://"))
    queue = CeleryQueue(app, store, clock, poll_s=0.005)
    waiting = asyncio.create_task(queue.evaluate(EVALUATION))
    await asyncio.sleep(0.02)
    cancelling = asyncio.create_task(queue.cancel(EVALUATION.job_id))
    await asyncio.sleep(0.02)
    held.set()
    await cancelling
    assert (await waiting).verdict is Verdict.INFRASTRUCTURE_ERROR
    assert await store.waiting() == {}
    await queue.close()
    app.close()
