"""The `EvaluationQueue` for nodes without a network: orders and reports are signed files in a directory."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from dataclasses import dataclass, field

from services.adapters.queues.failures import infrastructure_report
from services.adapters.spool.layout import order_name
from services.adapters.spool.messages import SpooledReport, SpooledRequest
from services.adapters.spool.orders import SpoolAnswer, SpooledOrders, SpoolPlace
from services.domain.errors import InfrastructureError, QueueError, StorageError
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.validations import ValidationReport, ValidationRequest
from services.domain.work import ATTEMPTS, order_of
from services.jobs.machine_code import with_machine_code_kept
from services.ports.jobs import ArtefactStore, CandidateStore
from services.ports.runtime import Clock
from services.ports.work import EvaluationQueue
from services.runtime.periodic import repeat

log = logging.getLogger(__name__)
MOST_BACKOFF_S = 5.0


@dataclass(kw_only=True)
class _Wait:
    """An order that somebody waits for."""

    order_id: str
    request: SpooledRequest
    answer: asyncio.Future[SpooledReport]
    since: float
    """On the monotonic clock."""
    placed: bool = False
    """Whether it was seen to be in the spool: what is not there before is not lost."""
    refusals: int = 0
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the order is written: a job that ends withdraws what is there, and nothing follows."""

    def fail(self, reason: InfrastructureError) -> None:
        """End the waiting without a report."""
        if not self.answer.done():
            self.answer.set_exception(reason)
            with contextlib.suppress(asyncio.CancelledError):
                self.answer.exception()  # read once, so that an answer nobody waits for is no warning


class SpoolQueue(EvaluationQueue):
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
        give_up_s: float = 600.0,
    ) -> None:
        """`artefacts` keeps the machine code that comes with reports. `give_up_s`: so long may the spool be full or
        away before that is an infrastructure error."""
        self._orders = orders
        self._clock = clock
        self._candidates = candidates
        self._artefacts = artefacts
        self._poll_s = poll_s
        self._sweep_s = sweep_s
        self._give_up_s = give_up_s
        self._waiting: dict[str, _Wait] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._placing: set[asyncio.Task[None]] = set()
        self._opened = False
        self._closed = False

    async def validate(self, request: ValidationRequest) -> ValidationReport:
        """Have a node run the problem's reference. Raises `InfrastructureError`."""
        report = await self._done(request)
        if not isinstance(report, ValidationReport):
            raise InfrastructureError(f"the order of {request.job_id} was answered with another kind of report")
        return report

    async def evaluate(self, request: EvaluationRequest) -> EvaluationReport:
        """Have a node judge a candidate, once an evaluation id."""
        known = None if self._candidates is None else await self._candidates.report(request.evaluation_id)
        if known is not None and known.verdict is not Verdict.INFRASTRUCTURE_ERROR:
            return known
        try:
            report = await self._done(request)
        except InfrastructureError as error:
            return infrastructure_report(request, str(error))
        if not isinstance(report, EvaluationReport):
            return infrastructure_report(request, "the order was answered with another kind of report")
        return await with_machine_code_kept(report, request, self._artefacts)

    async def cancel(self, job_id: str) -> None:
        """Withdraw the job's orders; nodes notice within seconds, and free what they keep for it."""
        names = [name for name, wait in self._waiting.items() if wait.request.job_id == job_id]
        waits = [self._waiting.pop(name) for name in names]
        for wait in waits:
            wait.fail(InfrastructureError("the job was cancelled"))
        for wait in waits:
            async with wait.writing:
                pass
        await asyncio.to_thread(self._orders.end, job_id)

    async def close(self) -> None:
        """Stop waiting; orders stay, and so do their reports."""
        self._closed = True
        tasks = [*self._tasks, *self._placing]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for wait in self._waiting.values():
            wait.fail(QueueError("the evaluation queue was closed"))
        self._waiting.clear()

    async def _done(self, request: SpooledRequest) -> SpooledReport:
        if self._closed:
            raise QueueError("the evaluation queue is closed")
        self._begin()
        order_id = order_of(request).id
        name = order_name(order_id, request.job_id)
        wait = self._waiting.get(name)
        if wait is None:
            future: asyncio.Future[SpooledReport] = asyncio.get_running_loop().create_future()
            wait = _Wait(order_id=order_id, request=request, answer=future, since=self._clock.monotonic())
            self._waiting[name] = wait
            # A task of its own: a caller who gives up must not leave the others without an order.
            placing = asyncio.create_task(self._see_placed(name, wait))
            self._placing.add(placing)
            placing.add_done_callback(self._placing.discard)
        return await asyncio.shield(wait.answer)

    async def _see_placed(self, name: str, wait: _Wait) -> None:
        """Place an order, again while the spool is full or away; when that lasts, the waiting ends."""
        since, pause_s, warned = self._clock.monotonic(), 0.25, False
        while not wait.answer.done():
            try:
                await self._placed(name, wait)
            except StorageError as error:
                if not warned:
                    log.warning("the order %s waits for the spool: %s", name, error)
                    warned = True
                if self._clock.monotonic() - since > self._give_up_s:
                    self._give_up(name, wait, error)
            except Exception as error:
                log.exception("the order %s cannot be placed for a fault of this program", name)
                self._give_up(name, wait, InfrastructureError(f"internal error: {type(error).__name__}: {error}"))
            else:
                wait.placed = True
                return
            await self._clock.sleep(pause_s)
            pause_s = min(2 * pause_s, MOST_BACKOFF_S)

    def _give_up(self, name: str, wait: _Wait, error: InfrastructureError) -> None:
        if self._waiting.get(name) is wait:
            del self._waiting[name]
        wait.fail(error)

    async def _placed(self, name: str, wait: _Wait) -> None:
        """See that an order is in the spool, unless it has a report already; a fault is no answer and is forgotten."""
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

    async def _place(self, wait: _Wait) -> None:
        async with wait.writing:
            if wait.answer.done():  # nobody waits any more
                return
            evaluator = await asyncio.to_thread(self._evaluator, wait.request)
            await asyncio.to_thread(self._orders.place, wait.request, wait.order_id, evaluator=evaluator)

    def _evaluator(self, request: SpooledRequest) -> str | None:
        """Who validated the job: figures of another evaluator do not compare with what is known of it."""
        if isinstance(request, ValidationRequest):
            return None
        validated = self._orders.answer(order_name(f"val-{request.job_id}", request.job_id))
        return None if validated is None or validated.report is None else validated.message.evaluator

    def _begin(self) -> None:
        """Start what goes on beside the waiting, at the first order."""
        if not self._tasks:
            tasks = (
                repeat("reports of the spool", self._look, self._poll_s, self._clock),
                repeat("the sweeper of the spool", self._sweep, self._sweep_s, self._clock),
            )
            # In a context of their own: their log lines are not about the job whose order came first.
            self._tasks = [asyncio.create_task(task, context=contextvars.Context()) for task in tasks]

    async def _look(self) -> None:
        """Hand out what has been answered."""
        if not self._waiting:
            return
        for name in set(await asyncio.to_thread(self._orders.answered)) & set(self._waiting):
            wait = self._waiting.get(name)
            if wait is None:
                continue
            answer = await asyncio.to_thread(self._orders.answer, name, wait.request)
            if answer is not None and self._waiting.get(name) is wait:
                del self._waiting[name]
                _settle(wait, answer)

    async def _sweep(self) -> None:
        """Place what was lost again, and end what was refused too often or has waited too long."""
        for name, wait in [(name, wait) for name, wait in self._waiting.items() if wait.placed]:
            place, reason = await asyncio.to_thread(self._orders.where, name)
            if self._waiting.get(name) is not wait:
                continue
            if place in (SpoolPlace.REFUSED, SpoolPlace.ABSENT):
                await self._again(name, wait, reason)
            elif self._clock.monotonic() - wait.since > self._orders.valid_s:
                fault = f"no node answered within {self._orders.valid_s / 86400:g} days"
                self._give_up(name, wait, InfrastructureError(fault))

    async def _again(self, name: str, wait: _Wait, reason: str) -> None:
        wait.refusals += bool(reason)
        if wait.refusals >= ATTEMPTS:
            fault = f"refused in the spool {wait.refusals} times: {reason}"
            self._give_up(name, wait, InfrastructureError(fault))
            return
        await self._place(wait)


def _settle(wait: _Wait, answer: SpoolAnswer) -> None:
    if answer.report is None:
        wait.fail(InfrastructureError(answer.fault or "the node gave no reason"))
    elif not wait.answer.done():
        wait.answer.set_result(answer.report)
