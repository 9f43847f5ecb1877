"""The `EvaluationQueue` of the embedded mode: one worker thread in this process, so that the device has one user."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from services.adapters.queues.order_queue import OrderQueue, Wait
from services.domain.errors import InfrastructureError
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.validations import ValidationRequest
from services.domain.work import Report, Request
from services.ports.jobs import ArtefactStore, CandidateStore
from services.ports.work import Workbenches

T = TypeVar("T")
log = logging.getLogger(__name__)

GRACE_S = 10.0
"""How long a call may take to notice that the queue is closed."""
KEPT = 512
"""How many answers are remembered for those who ask again."""


@dataclass(kw_only=True, eq=False)
class _Call(Wait):
    """One piece of work: waiting, running or done."""

    stopped: threading.Event = field(default_factory=threading.Event)
    """Set when nobody wants the work any more."""
    running: bool = False


class InProcessQueue(OrderQueue[_Call]):
    """Runs the calls of workbenches one after another, in the order they were asked for.

    A call that was asked for before is not run again: the same running call, a remembered answer, or the stored report
    answers (an `infrastructure_error` is no answer and is tried again). Bound to the event loop that uses it.
    """

    def __init__(
        self,
        workbenches: Workbenches,
        candidates: CandidateStore | None = None,
        artefacts: ArtefactStore | None = None,
    ) -> None:
        """`artefacts` keeps the machine code that comes with reports."""
        super().__init__(candidates, artefacts)
        self._workbenches = workbenches
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="workbench")
        self._answers: OrderedDict[str, EvaluationReport] = OrderedDict()

    async def evaluate(self, request: EvaluationRequest) -> EvaluationReport:
        """Judge a candidate, once an evaluation id."""
        report = await super().evaluate(request)
        if report.verdict is not Verdict.INFRASTRUCTURE_ERROR:
            self._answers[request.evaluation_id] = report
            if len(self._answers) > KEPT:
                self._answers.popitem(last=False)
        return report

    async def cancel(self, job_id: str) -> None:
        """End the job's waiting calls now and its running one soon; free what is kept warm for it."""
        self._stop("the job was cancelled", job_id)
        if not self._closed:
            self._spawn(self._free(job_id))

    async def close(self) -> None:
        """End all calls and wait until the workbench is closed; idempotent."""
        if self._closed:
            return
        self._closed = True
        self._stop("the evaluation queue was closed")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=GRACE_S)
        # Past the grace a call hangs; closing the workbench takes its processes away, which ends it.
        await asyncio.to_thread(self._workbenches.close)
        await asyncio.to_thread(self._thread.shutdown)

    async def _known(self, evaluation_id: str) -> EvaluationReport | None:
        if evaluation_id in self._answers:
            return self._answers[evaluation_id]
        return None if evaluation_id in self._waiting else await super()._known(evaluation_id)

    def _wait(self, request: Request) -> _Call:
        return _Call(request=request)

    async def _begin(self, key: str, wait: _Call) -> None:
        """Run the call in its turn and give its answer, unless it was ended while it waited."""
        self._end(key, wait, await self._in_thread(lambda: self._run(wait)))

    def _run(self, call: _Call) -> Report:
        """In the worker thread: the work, unless it was ended before its turn."""
        call.running = True
        if call.stopped.is_set():
            raise InfrastructureError("ended before its turn")
        request, stopped = call.request, call.stopped.is_set
        if isinstance(request, ValidationRequest):
            return self._workbenches.of(request.device).validate(request, stopped)
        if isinstance(request, EvaluationRequest):
            return self._workbenches.of(request.device).evaluate(request, stopped)
        raise InfrastructureError("a queue in this process compiles nothing ahead")

    def _stop(self, reason: str, job_id: str | None = None) -> None:
        """End calls: waiting ones and validations now; a running evaluation notices and answers soon."""
        for call in self._taken(job_id):
            call.stopped.set()
            if not call.running or isinstance(call.request, ValidationRequest):
                call.end(InfrastructureError(reason))

    async def _free(self, job_id: str) -> None:
        try:
            await self._in_thread(lambda: self._workbenches.close_job(job_id))
        except InfrastructureError as error:
            log.warning("could not free what job %s held: %s", job_id, error)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
