"""What every `EvaluationQueue` does: begin an order once, let all who ask for it wait, and hand out the answer."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import platform
from abc import abstractmethod
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from services.domain.errors import InfrastructureError, QueueError
from services.domain.evaluations import Environment, EvaluationReport, EvaluationRequest, PhasesS, Verdict
from services.domain.gates import GateName, GateResult, GateStatus
from services.domain.measurements import Baselines, Speedup
from services.domain.validations import ValidationReport, ValidationRequest
from services.domain.work import Report, Request, order_of
from services.jobs.machine_code import with_machine_code_kept
from services.ports.jobs import ArtefactStore, CandidateStore
from services.ports.work import EvaluationQueue

log = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False)
class Wait:
    """An order that somebody waits for."""

    request: Request
    answer: asyncio.Future[Report] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    begun: bool = False
    """Whether the order is known where it is done: what is known there of its id before is an earlier end."""
    placing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the order is written: a job that ends withdraws what is there, and nothing follows."""

    def end(self, outcome: Report | InfrastructureError) -> None:
        """Give the answer, or the reason why there is none; the first counts."""
        if self.answer.done():
            return
        if isinstance(outcome, InfrastructureError):
            self.answer.set_exception(outcome)
            self.answer.exception()  # read once, so that an answer nobody waits for is no warning
        else:
            self.answer.set_result(outcome)


W = TypeVar("W", bound=Wait)


class OrderQueue(EvaluationQueue, Generic[W]):
    """A queue whose orders are begun by `_begin`, and ended by `_end` whenever their answers come.

    An order is begun once, however many ask for it; one that has ended is begun again for who asks then."""

    def __init__(self, candidates: CandidateStore | None, artefacts: ArtefactStore | None) -> None:
        """`candidates` has reports of earlier evaluations, which answer at once. `artefacts` keeps the machine code
        that comes with reports."""
        self._candidates = candidates
        self._artefacts = artefacts
        self._waiting: dict[str, W] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loops_run = False
        self._closed = False

    async def validate(self, request: ValidationRequest) -> ValidationReport:
        """Run the problem's reference; callers for the same job share one run. Raises `InfrastructureError`."""
        report = await self._done(request)
        if not isinstance(report, ValidationReport):
            raise InfrastructureError(f"the order of {request.job_id} was answered with another kind of report")
        return report

    async def evaluate(self, request: EvaluationRequest) -> EvaluationReport:
        """Judge a candidate, once an evaluation id."""
        known = await self._known(request.evaluation_id)
        if known is not None:
            return known
        try:
            report = await self._done(request)
        except InfrastructureError as error:
            return infrastructure_report(request, str(error))
        if not isinstance(report, EvaluationReport):
            return infrastructure_report(request, "the order was answered with another kind of report")
        return await with_machine_code_kept(report, request, self._artefacts)

    async def close(self) -> None:
        """Stop waiting; orders that others do go on, and their answers stay."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for wait in self._taken():
            wait.end(QueueError("the evaluation queue was closed"))

    @abstractmethod
    def _wait(self, request: Request) -> W:
        """What is to be known of an order that is about to begin."""

    @abstractmethod
    async def _begin(self, key: str, wait: W) -> None:
        """Begin an order, or do it. Raises `InfrastructureError`, which is its answer."""

    def _key(self, request: Request) -> str:
        """What an order is called in this queue."""
        return order_of(request).id

    def _loops(self) -> Iterable[Coroutine[None, None, None]]:
        """What goes on beside the waiting, from the first order to the end."""
        return ()

    async def _known(self, evaluation_id: str) -> EvaluationReport | None:
        """An earlier answer; the machine's failure is none."""
        report = None if self._candidates is None else await self._candidates.report(evaluation_id)
        return None if report is None or report.verdict is Verdict.INFRASTRUCTURE_ERROR else report

    async def _done(self, request: Request) -> Report:
        """The answer to an order. Raises `InfrastructureError`."""
        if self._closed:
            raise QueueError("the evaluation queue is closed")
        if not self._loops_run:
            self._loops_run = True
            for loop in self._loops():
                # In a context of their own: their log lines are not about the job whose order came first.
                self._spawn(loop, contextvars.Context())
        key = self._key(request)
        wait = self._waiting.get(key)
        if wait is None:
            wait = self._waiting[key] = self._wait(request)
            # A task of its own: a caller who gives up must not leave the others without an answer.
            self._spawn(self._begun(key, wait))
        return await asyncio.shield(wait.answer)

    async def _begun(self, key: str, wait: W) -> None:
        try:
            await self._begin(key, wait)
            wait.begun = True
        except InfrastructureError as error:
            self._end(key, wait, error)
        except Exception as error:
            log.exception("the order %s failed for a fault of this program", key)
            self._end(key, wait, InfrastructureError(f"internal error: {type(error).__name__}: {error}"))

    def _end(self, key: str, wait: W, outcome: Report | InfrastructureError) -> None:
        """Answer all who wait for an order; who asks again begins anew."""
        if self._waiting.get(key) is wait:
            del self._waiting[key]
        wait.end(outcome)

    def _taken(self, job_id: str | None = None) -> list[W]:
        """The orders of a job (or all) that are waited for, taken out: who asks again begins anew."""
        keys = [key for key, wait in self._waiting.items() if job_id in (None, wait.request.job_id)]
        return [self._waiting.pop(key) for key in keys]

    async def _withdrawn(self, job_id: str) -> None:
        """Nobody waits for a job's orders any more, and none is being placed."""
        waits = self._taken(job_id)
        for wait in waits:
            wait.end(InfrastructureError("the job was cancelled"))
        for wait in waits:
            async with wait.placing:
                pass

    def _spawn(self, work: Coroutine[None, None, None], context: contextvars.Context | None = None) -> None:
        task = asyncio.create_task(work, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def infrastructure_report(request: EvaluationRequest, reason: str) -> EvaluationReport:
    """The report of an evaluation that the machine, not the candidate, prevented; the reason is the detail of a first
    gate that was skipped."""
    skipped = GateResult(name=GateName.SCREEN, status=GateStatus.SKIPPED, detail=reason, seconds=0.0)
    return EvaluationReport(
        verdict=Verdict.INFRASTRUCTURE_ERROR,
        failed_gate=None,
        gates=(skipped,),
        latency=None,
        baselines=Baselines(),
        speedup=Speedup(),
        shapes=(),
        roofline=None,
        profile=None,
        tuned=None,
        environment=Environment(
            device=request.device,
            driver=None,
            torch=None,
            triton=None,
            toolkit=None,
            cpu=platform.machine(),
            referee_version="none",
            tf32=False,
            isolation="none",
        ),
        phases_s=PhasesS(),
    )
