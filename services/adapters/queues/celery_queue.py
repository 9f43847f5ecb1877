"""The `EvaluationQueue` for distributed workers: orders are rows, Celery messages wake-ups."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable

from celery import Celery

from services.adapters.queues.compile_ahead import CompileAhead
from services.adapters.queues.notifier import WorkNotifier
from services.adapters.queues.order_queue import OrderQueue, Wait
from services.domain.errors import InfrastructureError, QueueError
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.work import Report, Request, WorkState, WorkStatus, order_of
from services.ports.runtime import Clock
from services.ports.work import WorkStore
from services.runtime.periodic import patiently, repeat

_OPEN = frozenset({WorkStatus.QUEUED, WorkStatus.RUNNING})
NO_WORKER_S = 120.0
"""An order fails after so long without a worker whose results compare with the job's others."""
MOST_WAKE_UPS = 100
"""So many a device are sent at one look: orders that no worker may take must not keep workers busy."""


class CeleryQueue(OrderQueue[Wait]):
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
        give_up_s: float = 600.0,
        ahead: CompileAhead | None = None,
    ) -> None:
        """`give_up_s`: so long may broker or database be away before that is an infrastructure error.
        `ahead` has candidates compiled by workers without a device first."""
        super().__init__(None, None)
        self._orders = orders
        self._clock = clock
        self._poll_s = poll_s
        self._sweep_s = sweep_s
        self._give_up_s = give_up_s
        self._ahead = ahead
        self._notifier = WorkNotifier(app, clock)
        self._devices: set[str] = set()
        """Devices that orders were placed for."""

    async def evaluate(self, request: EvaluationRequest) -> EvaluationReport:
        """Have a worker judge a candidate, once an evaluation id."""
        if self._ahead is not None:
            await self._ahead.compiled(request, lambda order: self._done(order.request))
        return await super().evaluate(request)

    async def cancel(self, job_id: str) -> None:
        """End the job's orders, whose workers notice within seconds, and have workers free what they keep for it."""
        await self._withdrawn(job_id)
        await self._orders.cancel(job_id)
        await self._notifier.tell_ended(job_id)

    def _wait(self, request: Request) -> Wait:
        return Wait(request=request)

    async def _begin(self, key: str, wait: Wait) -> None:
        state = await patiently(f"the order {key}", lambda: self._place(wait), self._give_up_s, self._clock)
        if state is None:
            return
        if state.status not in _OPEN:
            self._end(key, wait, _outcome(state))
            return
        self._devices.add(wait.request.device)
        self._notifier.notify(wait.request.device)

    async def _place(self, wait: Wait) -> WorkState | None:
        """What is known of an order that is stored now; None where nobody waits any more."""
        async with wait.placing:
            return None if wait.answer.done() else await self._orders.place(order_of(wait.request))

    def _loops(self) -> Iterable[Coroutine[None, None, None]]:
        yield repeat("wake-ups", self._notifier.run, 0.0, self._clock)  # never ends by itself
        yield repeat("answers of workers", self._look, self._poll_s, self._clock)
        yield repeat("the sweeper of orders", self._sweep, self._sweep_s, self._clock)

    async def _look(self) -> None:
        """Hand out what has ended."""
        waits = {key: wait for key, wait in self._waiting.items() if wait.begun}
        if waits:
            for key, state in (await self._orders.ended(tuple(waits))).items():
                self._end(key, waits[key], _outcome(state))

    async def _sweep(self) -> None:
        """Wake workers for what was lost; end what nobody can do."""
        if self._notifier.away_s > self._give_up_s:
            for wait in self._taken():
                wait.end(QueueError(f"the message broker cannot be reached: {self._notifier.fault}"))
        await self._orders.expire(NO_WORKER_S)
        waiting = await self._orders.waiting()
        for device in self._devices | waiting.keys():
            count, held = waiting.get(device, 0), await self._notifier.length(device)
            if held > count + MOST_WAKE_UPS:  # nobody takes them: its nodes come for their orders at the API
                held = await self._notifier.empty(device)
            self._notifier.notify(device, times=min(count - held, MOST_WAKE_UPS))


def _outcome(state: WorkState) -> Report | InfrastructureError:
    return state.result or InfrastructureError(state.fault or "the order ended without a result")
