"""The `EvaluationQueue` for nodes without a network: orders and reports are signed files in a directory."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass

from services.adapters.queues.order_queue import OrderQueue, Wait
from services.adapters.spool.layout import order_name
from services.adapters.spool.messages import SpooledRequest
from services.adapters.spool.orders import SpooledOrders, SpoolPlace
from services.domain.errors import InfrastructureError
from services.domain.validations import ValidationRequest
from services.domain.work import ATTEMPTS, CompileRequest, Request, order_of
from services.ports.jobs import ArtefactStore, CandidateStore
from services.ports.runtime import Clock
from services.runtime.periodic import patiently, repeat

GIVE_UP_S = 600.0
"""So long may the spool be full or away before that is an infrastructure error."""


@dataclass(kw_only=True, eq=False)
class _SpoolWait(Wait):
    """An order in the spool."""

    request: SpooledRequest
    since: float
    """On the monotonic clock."""
    refusals: int = 0


class SpoolQueue(OrderQueue[_SpoolWait]):
    """Places orders in a spool and waits for their reports, which stay there until their job ends.

    Whoever begins again (a job on another orchestrator) finds what was answered meanwhile. An order that vanished is
    placed again; one that was refused too, some times, and then the reason is an infrastructure error. While the spool
    is full or away, orders wait here.
    """

    def __init__(
        self,
        orders: SpooledOrders,
        clock: Clock,
        candidates: CandidateStore | None = None,
        artefacts: ArtefactStore | None = None,
        *,
        poll_s: float = 0.5,
        sweep_s: float = 10.0,
    ) -> None:
        """`artefacts` keeps the machine code that comes with reports."""
        super().__init__(candidates, artefacts)
        self._orders = orders
        self._clock = clock
        self._poll_s = poll_s
        self._sweep_s = sweep_s
        self._opened = False

    async def cancel(self, job_id: str) -> None:
        """Withdraw the job's orders; nodes notice within seconds, and free what they keep for it."""
        await self._withdrawn(job_id)
        await asyncio.to_thread(self._orders.end, job_id)

    def _key(self, request: Request) -> str:
        return order_name(order_of(request).id, request.job_id)

    def _wait(self, request: Request) -> _SpoolWait:
        if isinstance(request, CompileRequest):
            raise InfrastructureError("nothing is compiled ahead in a spool")
        return _SpoolWait(request=request, since=self._clock.monotonic())

    async def _begin(self, key: str, wait: _SpoolWait) -> None:
        """Place an order, again while the spool is full or away; when that lasts, the waiting ends."""
        await patiently(f"the order {key}", lambda: self._placed(key, wait), GIVE_UP_S, self._clock)

    def _loops(self) -> Iterable[Coroutine[None, None, None]]:
        yield repeat("reports of the spool", self._look, self._poll_s, self._clock)
        yield repeat("the sweeper of the spool", self._sweep, self._sweep_s, self._clock)

    async def _placed(self, name: str, wait: _SpoolWait) -> None:
        """See that an order is in the spool, unless it has a report already; a fault is no answer and is forgotten."""
        if wait.answer.done():  # nobody waits any more
            return
        if not self._opened:
            await asyncio.to_thread(self._orders.open)
            self._opened = True
        answer = await asyncio.to_thread(self._orders.answer, name, wait.request)
        if answer is not None and answer.report is not None:
            return  # the next look finds it
        if answer is not None:
            await asyncio.to_thread(self._orders.forget_answer, name)
        place, _ = await asyncio.to_thread(self._orders.where, name)
        if place is not SpoolPlace.CLAIMED:
            await self._place(wait)

    async def _place(self, wait: _SpoolWait) -> None:
        async with wait.placing:
            if wait.answer.done():  # nobody waits any more
                return
            evaluator = await asyncio.to_thread(self._evaluator, wait.request)
            await asyncio.to_thread(self._orders.place, wait.request, order_of(wait.request).id, evaluator=evaluator)

    def _evaluator(self, request: SpooledRequest) -> str | None:
        """Who validated the job: figures of another evaluator do not compare with what is known of it."""
        if isinstance(request, ValidationRequest):
            return None
        validated = self._orders.answer(order_name(f"val-{request.job_id}", request.job_id))
        return None if validated is None or validated.report is None else validated.message.evaluator

    async def _look(self) -> None:
        """Hand out what has been answered."""
        if not self._waiting:
            return
        for name in set(await asyncio.to_thread(self._orders.answered)) & set(self._waiting):
            wait = self._waiting.get(name)
            if wait is None or not wait.begun:
                continue
            answer = await asyncio.to_thread(self._orders.answer, name, wait.request)
            if answer is not None:
                self._end(name, wait, answer.report or InfrastructureError(answer.fault or "the node gave no reason"))

    async def _sweep(self) -> None:
        """Place what was lost again, and end what was refused too often or has waited too long."""
        for name, wait in [(name, wait) for name, wait in self._waiting.items() if wait.begun]:
            place, reason = await asyncio.to_thread(self._orders.where, name)
            if self._waiting.get(name) is not wait:
                continue
            if place in (SpoolPlace.REFUSED, SpoolPlace.ABSENT):
                await self._again(name, wait, reason)
            elif self._clock.monotonic() - wait.since > self._orders.valid_s:
                fault = f"no node answered within {self._orders.valid_s / 86400:g} days"
                self._end(name, wait, InfrastructureError(fault))

    async def _again(self, name: str, wait: _SpoolWait, reason: str) -> None:
        wait.refusals += bool(reason)
        if wait.refusals >= ATTEMPTS:
            fault = f"refused in the spool {wait.refusals} times: {reason}"
            self._end(name, wait, InfrastructureError(fault))
            return
        await self._place(wait)
