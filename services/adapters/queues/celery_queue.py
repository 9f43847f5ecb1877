"""The `EvaluationQueue` for distributed workers: orders are rows, Celery messages wake-ups."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Awaitable, Callable
from typing import TypeVar

from celery import Celery

from services.adapters.queues.compile_ahead import CompileAhead
from services.adapters.queues.failures import infrastructure_report
from services.adapters.queues.notifier import WorkNotifier
from services.domain.errors import InfrastructureError, QueueError, StorageError
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.validations import ValidationReport, ValidationRequest
from services.domain.work import Report, WorkOrder, WorkState, WorkStatus, order_of
from services.ports.runtime import Clock
from services.ports.work import EvaluationQueue, WorkStore
from services.runtime.periodic import repeat

T = TypeVar("T")
_OPEN = frozenset({WorkStatus.QUEUED, WorkStatus.RUNNING})
MOST_BACKOFF_S = 5.0
MOST_WAKE_UPS = 100
"""So many a device are sent at one look: orders that no worker may take must not keep workers busy."""


class CeleryQueue(EvaluationQueue):
    """Places orders, wakes workers, and waits for the rows: one query for all orders that are waited for.

    A worker that is woken takes the order whose turn it is. A message may be lost (a broker without persistence, a
    worker killed at the wrong moment), so a sweeper sends one for each order that nobody works on beyond the messages
    that the broker holds. A wake-up too many does nothing. While the broker or the database is away, orders wait.
    """

    def __init__(
        self,
        app: Celery,
        orders: WorkStore,
        clock: Clock,
        *,
        poll_s: float = 0.1,
        sweep_s: float = 5.0,
        no_worker_s: float = 120.0,
        give_up_s: float = 600.0,
        ahead: CompileAhead | None = None,
    ) -> None:
        """`no_worker_s`: an order fails after so long without a worker whose results compare with the job's others.
        `give_up_s`: so long may broker or database be away before that is an infrastructure error.
        `ahead` has candidates compiled by workers without a device first."""
        self._orders = orders
        self._clock = clock
        self._poll_s = poll_s
        self._sweep_s = sweep_s
        self._no_worker_s = no_worker_s
        self._give_up_s = give_up_s
        self._ahead = ahead
        self._notifier = WorkNotifier(app, clock)
        self._waiting: dict[str, asyncio.Future[WorkState]] = {}
        self._devices: set[str] = set()
        """Devices that orders were placed for."""
        self._tasks: list[asyncio.Task[None]] = []
        self._closed = False

    async def validate(self, request: ValidationRequest) -> ValidationReport:
        """Have a worker run the problem's reference. Raises `InfrastructureError`."""
        result = await self._done(order_of(request))
        if not isinstance(result, ValidationReport):
            raise InfrastructureError(f"the order of {request.job_id} was answered with another kind of report")
        return result

    async def evaluate(self, request: EvaluationRequest) -> EvaluationReport:
        """Have a worker judge a candidate, once an evaluation id."""
        try:
            if self._ahead is not None:
                await self._ahead.compiled(request, self._done)
            result = await self._done(order_of(request))
        except InfrastructureError as error:
            return infrastructure_report(request, str(error))
        if not isinstance(result, EvaluationReport):
            return infrastructure_report(request, "the order was answered with another kind of report")
        return result

    async def cancel(self, job_id: str) -> None:
        """End the job's orders, whose workers notice within seconds, and have workers free what they keep for it."""
        await self._orders.cancel(job_id)
        await self._notifier.tell_ended(job_id)

    async def close(self) -> None:
        """Stop waiting; orders go on and their results stay."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._fail_all(QueueError("the evaluation queue was closed"))

    async def _done(self, order: WorkOrder) -> Report:
        if self._closed:
            raise QueueError("the evaluation queue is closed")
        self._begin()
        state = await self._patiently(lambda: self._orders.place(order))
        if state.status in _OPEN:
            answer = self._waiting.get(order.id)
            if answer is None:
                answer = self._waiting[order.id] = asyncio.get_running_loop().create_future()
                self._devices.add(order.request.device)
                self._notifier.notify(order.request.device)
            state = await asyncio.shield(answer)
        if state.result is None:
            raise InfrastructureError(state.fault or "the order ended without a result")
        return state.result

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """Try again while the database is away. Raises `StorageError` when that lasts."""
        since, pause_s = self._clock.monotonic(), 0.25
        while True:
            try:
                return await work()
            except StorageError:
                if self._closed or self._clock.monotonic() - since > self._give_up_s:
                    raise
            await self._clock.sleep(pause_s)
            pause_s = min(2 * pause_s, MOST_BACKOFF_S)

    def _begin(self) -> None:
        """Start what goes on beside the waiting, at the first order."""
        if not self._tasks:
            tasks = (
                repeat("wake-ups", self._notifier.run, 0.0, self._clock),  # never ends by itself
                repeat("answers of workers", self._look, self._poll_s, self._clock),
                repeat("the sweeper of orders", self._sweep, self._sweep_s, self._clock),
            )
            # In a context of their own: their log lines are not about the job whose order came first.
            self._tasks = [asyncio.create_task(task, context=contextvars.Context()) for task in tasks]

    async def _look(self) -> None:
        """Hand out what has ended."""
        if not self._waiting:
            return
        for order_id, state in (await self._orders.ended(tuple(self._waiting))).items():
            answer = self._waiting.pop(order_id, None)
            if answer is not None and not answer.done():
                answer.set_result(state)

    async def _sweep(self) -> None:
        """Wake workers for what was lost; end what nobody can do."""
        if self._notifier.away_s > self._give_up_s:
            self._fail_all(QueueError(f"the message broker cannot be reached: {self._notifier.fault}"))
        await self._orders.expire(self._no_worker_s)
        waiting = await self._orders.waiting()
        for device in self._devices | waiting.keys():
            count, held = waiting.get(device, 0), await self._notifier.length(device)
            if held > count + MOST_WAKE_UPS:  # nobody takes them: its nodes come for their orders at the API
                held = await self._notifier.empty(device)
            self._notifier.notify(device, times=min(count - held, MOST_WAKE_UPS))

    def _fail_all(self, error: QueueError) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(error)
                with contextlib.suppress(asyncio.CancelledError):
                    answer.exception()  # read once, so that an answer nobody waits for is no warning
        self._waiting.clear()
