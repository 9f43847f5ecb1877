"""The queue over a spool, beyond what every queue promises: what is lost, refused, late, or answered meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from services.adapters.spool.files import write_whole
from services.adapters.spool.layout import order_name
from services.adapters.spool.orders import SpoolPlace
from services.adapters.spool.queue import SpoolQueue
from services.domain.errors import InfrastructureError
from services.domain.evaluations import Verdict
from services.domain.validations import ValidationReport, ValidationRequest
from services.domain.work import ATTEMPTS
from services.runtime.clock import SystemClock
from tests.doubles import a_device, a_problem, a_report, an_analysis
from tests.unit.services.adapters.spool.setup import OFFER, Spool, a_request, a_spool, name_of
from tests.waiting import eventually

REQUEST = a_request()
NAME = name_of(REQUEST)


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """A queue that waits for the report on `REQUEST`."""

    spool: Spool
    queue: SpoolQueue
    asked: asyncio.Task[object]

    async def until_it_waits(self) -> None:
        await eventually(lambda: self.spool.orders.where(NAME)[0] is SpoolPlace.WAITING)

    def judge(self, median_us: float = 100.0) -> None:
        node = self.spool.node()
        claim = node.take()
        assert claim is not None
        assert node.answer(claim, a_report(median_us=median_us))


def a_queue(spool: Spool) -> SpoolQueue:
    return SpoolQueue(spool.orders, SystemClock(), poll_s=0.01, sweep_s=0.02)


@pytest_asyncio.fixture
async def waiting(spool: Spool) -> AsyncIterator[Waiting]:
    queue = a_queue(spool)
    here = Waiting(spool=spool, queue=queue, asked=asyncio.create_task(queue.evaluate(REQUEST)))
    await here.until_it_waits()
    yield here
    await queue.close()
    await asyncio.wait([here.asked])


async def test_an_order_that_vanished_is_placed_again(waiting: Waiting) -> None:
    for _ in range(5):
        (waiting.spool.layout.orders / NAME).unlink()
        await waiting.until_it_waits()
    waiting.judge()
    assert await waiting.asked == a_report()


async def test_a_forged_report_is_put_aside_and_the_true_one_is_believed(waiting: Waiting) -> None:
    other = a_spool(waiting.spool.layout.root.parent / "other")
    other.orders.place(REQUEST, REQUEST.evaluation_id)
    thief = other.node()
    claim = thief.take()
    assert claim is not None
    thief.answer(claim, a_report())
    forged = (other.layout.reports / NAME).read_bytes().replace(b"accepted", b"rejected", 1)
    (waiting.spool.layout.orders / NAME).unlink()
    write_whole(waiting.spool.layout.reports / NAME, forged)
    reason = waiting.spool.layout.refused / f"reports,{NAME}.txt"
    await eventually(reason.exists)
    await waiting.until_it_waits()
    assert "signature is wrong" in waiting.spool.refused()[f"reports,{NAME}"]
    waiting.judge(median_us=3.0)
    assert await waiting.asked == a_report(median_us=3.0)


async def test_what_is_refused_again_and_again_is_an_infrastructure_error_with_the_reason(waiting: Waiting) -> None:
    node = waiting.spool.node(version="9.9")
    for _ in range(ATTEMPTS):
        await waiting.until_it_waits()
        assert node.take() is None
        await eventually(lambda: waiting.spool.orders.where(NAME)[0] is SpoolPlace.WAITING or waiting.asked.done())
    report = await waiting.asked
    assert getattr(report, "verdict", None) is Verdict.INFRASTRUCTURE_ERROR
    assert "this is 9.9: install the same version on both sides" in report.gates[0].detail  # type: ignore[attr-defined]
    again = asyncio.create_task(waiting.queue.evaluate(REQUEST))  # nothing accepted is lost: it may be asked again
    await waiting.until_it_waits()
    waiting.judge()
    assert await again == a_report()


async def test_who_begins_again_finds_what_was_answered_meanwhile(spool: Spool) -> None:
    first = a_queue(spool)
    asked = asyncio.create_task(first.evaluate(REQUEST))
    here = Waiting(spool=spool, queue=first, asked=asked)
    await here.until_it_waits()
    await first.close()
    assert (await asked).verdict is Verdict.INFRASTRUCTURE_ERROR
    here.judge(median_us=5.0)
    second = a_queue(spool)
    assert await asyncio.wait_for(second.evaluate(REQUEST), 60) == a_report(median_us=5.0)
    assert spool.files() == [f"reports/{NAME}"]
    await second.close()


async def test_two_services_that_wait_for_the_same_order_get_the_same_report(waiting: Waiting) -> None:
    second = a_queue(waiting.spool)
    also = asyncio.create_task(second.evaluate(REQUEST))
    await asyncio.sleep(0.05)
    waiting.judge()
    assert [await waiting.asked, await also] == [a_report()] * 2
    assert waiting.spool.files() == [f"reports/{NAME}"]
    await second.close()


async def test_a_jobs_candidates_go_to_the_evaluator_that_validated_it(spool: Spool) -> None:
    queue, node = a_queue(spool), spool.node()
    validation = ValidationRequest(job_id="job-1", team_id="local", problem=a_problem(), device="cpu", backend="cpp")
    asked = asyncio.create_task(queue.validate(validation))
    here = Waiting(spool=spool, queue=queue, asked=asked)
    await eventually(lambda: spool.orders.where(order_name("val-job-1", "job-1"))[0] is SpoolPlace.WAITING)
    claim = node.take()
    assert claim is not None
    node.answer(claim, ValidationReport(analysis=an_analysis(), refusal=None, device=a_device()))
    assert (await asked).analysis is not None
    evaluation = asyncio.create_task(queue.evaluate(REQUEST))
    await here.until_it_waits()
    other = spool.node("two", offer=type(OFFER)(device="cpu", backends=("cpp",), evaluator="another CPU"))
    assert other.take() is None
    here.judge()
    assert await evaluation == a_report()
    await queue.close()


async def test_a_report_of_another_kind_is_refused_and_no_answer(waiting: Waiting) -> None:
    node = waiting.spool.node()
    for _ in range(ATTEMPTS):
        await waiting.until_it_waits()
        claim = node.take()
        assert claim is not None
        node.answer(claim, ValidationReport(analysis=an_analysis(), refusal=None, device=a_device()))
        await eventually(lambda: waiting.spool.orders.where(NAME)[0] is not SpoolPlace.ANSWERED)
    report = await asyncio.wait_for(waiting.asked, 60)
    assert getattr(report, "verdict", None) is Verdict.INFRASTRUCTURE_ERROR


async def test_an_order_that_nobody_answers_within_its_time_fails(spool: Spool) -> None:
    queue = SpoolQueue(spool.service(valid_days=1e-6), SystemClock(), poll_s=0.01, sweep_s=0.02)
    validation = ValidationRequest(job_id="job-1", team_id="local", problem=a_problem(), device="cpu", backend="cpp")
    with pytest.raises(InfrastructureError, match="no node answered within"):
        await asyncio.wait_for(queue.validate(validation), 60)
    await queue.close()


@pytest.mark.parametrize("turns", range(8))
async def test_a_job_that_ends_while_its_orders_are_being_placed_leaves_none(spool: Spool, turns: int) -> None:
    queue = a_queue(spool)
    asked = [asyncio.create_task(queue.evaluate(a_request(step))) for step in range(6)]
    for _ in range(1 + turns * 3):
        await asyncio.sleep(0)
    await asyncio.sleep(turns * 0.002)
    await queue.cancel("job-1")
    reports = await asyncio.wait_for(asyncio.gather(*asked), 60)
    assert {report.verdict for report in reports} == {Verdict.INFRASTRUCTURE_ERROR}
    await queue.close()
    await eventually(lambda: not any(name.startswith(("orders/", "claims/")) for name in spool.files()))
    assert spool.orders.where(name_of(a_request(0)))[0] is SpoolPlace.ABSENT


async def test_a_caller_who_gives_up_at_once_leaves_the_order_to_the_others(spool: Spool) -> None:
    queue = a_queue(spool)
    first, second = (asyncio.create_task(queue.evaluate(REQUEST)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    here = Waiting(spool=spool, queue=queue, asked=second)
    await here.until_it_waits()
    here.judge()
    assert await asyncio.wait_for(second, 60) == a_report()
    await queue.close()
