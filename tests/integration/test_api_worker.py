"""A worker that takes its orders from the API: what it does when things go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import pytest

from services.domain.errors import DeviceLostError, StorageError, UserError
from services.domain.nodes import Offer
from services.domain.work import WorkClaim, WorkStatus, order_of
from services.runtime.clock import SystemClock
from tests.contracts.workbench import LOST, RecordingWorkbench
from tests.doubles import InMemoryDatabase, InMemoryWorkStore, a_candidate, a_report, an_evaluation_request
from tests.waiting import eventually
from workers.queue.api_worker import STUCK, ApiWorker
from workers.queue.device_check import DeviceCheck
from workers.queue.orders import ClaimPace, WorkerContext

pytestmark = pytest.mark.integration

OFFER = Offer(device="cpu", backends=("cpp",), evaluator="none")
PACE = ClaimPace(ttl_s=5.0, beat_s=0.02)


class Orders:
    """A server's orders as a node sees them; requests fail as often as told."""

    def __init__(self) -> None:
        store = self._store = InMemoryWorkStore(InMemoryDatabase(clock=SystemClock()))
        self.place, self.state = store.place, store.state
        self.renew, self.finish, self.fail, self.release = store.renew, store.finish, store.fail, store.release
        self.faults: list[Exception] = []
        self.over: frozenset[str] = frozenset()

    async def take(self, owner: str, ttl_s: float, offer: Offer) -> WorkClaim | None:
        if self.faults:
            raise self.faults.pop()
        return await self._store.take(owner, ttl_s, offer)

    async def ended(self, jobs: Iterable[tuple[str, str]]) -> frozenset[str]:
        return self.over & {job_id for _, job_id in jobs}


def a_worker(
    orders: Orders, bench: RecordingWorkbench, end: Callable[[int], object] = print, limit_s: float = 60.0
) -> ApiWorker:
    context = WorkerContext(orders=orders, workbench=bench, offer=OFFER)
    return ApiWorker(orders, context, "node", PACE, hard_limit_s=limit_s, free_s=0.0, end_process=end)


async def test_a_server_that_is_away_is_waited_for() -> None:
    orders, bench, stop = Orders(), RecordingWorkbench(), asyncio.Event()
    orders.faults = [StorageError("no server answers"), StorageError("no server answers")]
    order = order_of(an_evaluation_request(a_candidate()))
    await orders.place(order)
    working = asyncio.create_task(a_worker(orders, bench).run(stop))
    await eventually(lambda: bench.calls)
    stop.set()
    assert await working == 1
    assert (await orders.state(order.id)).result == a_report()


async def test_a_token_that_was_revoked_ends_the_worker() -> None:
    orders = Orders()
    orders.faults = [UserError("token ab has been revoked")]
    with pytest.raises(UserError, match="revoked"):
        await a_worker(orders, RecordingWorkbench()).run(asyncio.Event())


async def test_a_worker_that_was_told_to_stop_ends_what_it_has_begun() -> None:
    orders, bench, stop = Orders(), RecordingWorkbench(seconds=0.2), asyncio.Event()
    first, second = (order_of(an_evaluation_request(a_candidate("job-1", step))) for step in range(2))
    await orders.place(first)
    await orders.place(second)
    working = asyncio.create_task(a_worker(orders, bench).run(stop))
    await eventually(lambda: bench.calls)
    stop.set()
    assert await working == 1
    states = {(await orders.state(order.id)).status for order in (first, second)}
    assert states == {WorkStatus.DONE, WorkStatus.QUEUED}


async def test_an_order_that_hangs_beyond_every_limit_ends_the_process() -> None:
    orders, bench, codes = Orders(), RecordingWorkbench(), list[int]()
    await orders.place(order_of(an_evaluation_request(a_candidate(source="hang"))))
    with pytest.raises(TimeoutError):
        await a_worker(orders, bench, codes.append, limit_s=0.2).run(asyncio.Event())
    assert codes == [STUCK]
    bench.closed = True  # its thread ends


async def test_a_worker_whose_device_is_gone_puts_its_order_back_takes_no_other_and_ends() -> None:
    orders, bench = Orders(), RecordingWorkbench()
    placed = [order_of(an_evaluation_request(a_candidate("job-1", step, source=LOST))) for step in range(3)]
    for order in placed:
        await orders.place(order)
    with pytest.raises(DeviceLostError, match="GPU 0 is gone"):
        await a_worker(orders, bench).run(asyncio.Event())
    assert len(bench.calls) == 1
    assert {(await orders.state(order.id)).status for order in placed} == {WorkStatus.QUEUED}
    for _ in placed:  # as if the lost worker had never been there: no attempt is used up
        claim = await orders.take("another", 5.0, OFFER)
        assert claim is not None
        assert await orders.finish(claim, a_report())


async def test_nothing_is_taken_for_a_device_that_went_while_the_worker_had_nothing_to_do() -> None:
    orders, bench = Orders(), RecordingWorkbench()
    await orders.place(order_of(an_evaluation_request(a_candidate())))
    looks = list[int]()

    def look() -> None:
        looks.append(1)
        if len(looks) > 1:
            raise DeviceLostError("GPU 0 is gone")

    context = WorkerContext(orders=orders, workbench=bench, offer=OFFER, device=DeviceCheck(look, every_s=0.0))
    with pytest.raises(DeviceLostError):
        await ApiWorker(orders, context, "node", PACE).run(asyncio.Event())
    assert len(bench.calls) == 1, "the first look found it"


def test_a_device_is_looked_at_now_and_then_only() -> None:
    looks = list[int]()
    check = DeviceCheck(lambda: looks.append(1), every_s=60.0)
    for _ in range(3):
        check.now_and_then()
    assert looks == [1]


async def test_what_is_kept_for_a_job_goes_when_it_has_ended() -> None:
    orders, bench, stop = Orders(), RecordingWorkbench(), asyncio.Event()
    await orders.place(order_of(an_evaluation_request(a_candidate())))
    working = asyncio.create_task(a_worker(orders, bench).run(stop))
    await eventually(lambda: bench.calls)
    await asyncio.sleep(0.2)
    assert bench.freed == []
    orders.over = frozenset({"job-1"})
    await eventually(lambda: bench.freed == ["job-1"])
    stop.set()
    await working
