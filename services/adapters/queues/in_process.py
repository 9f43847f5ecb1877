"""The `EvaluationQueue` of the embedded mode: one worker thread in this process, so that the device has one user."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from services.adapters.queues.failures import infrastructure_report
from services.domain.errors import InfrastructureError, QueueError
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.validations import ValidationReport, ValidationRequest
from services.jobs.machine_code import with_machine_code_kept
from services.ports.jobs import ArtefactStore, CandidateStore
from services.ports.work import EvaluationQueue, Workbenches

T = TypeVar("T")
log = logging.getLogger(__name__)

KEPT = 512
"""How many answers are remembered for those who ask again."""


class _Call(Generic[T]):
    """One piece of work: waiting, running or done."""

    def __init__(self, job_id: str, work: Callable[[Callable[[], bool]], T]) -> None:
        self.job_id = job_id
        self.work = work
        self.stopped = threading.Event()
        """Set when nobody wants the work any more."""
        self.running = False
        self.answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()


class InProcessQueue(EvaluationQueue):
    """Runs the calls of workbenches one after another, in the order they were asked for.

    A call that was asked for before is not run again: the same running call, a remembered answer, or the stored report
    answers (an `infrastructure_error` is no answer and is tried again). Bound to the event loop that uses it.
    """

    def __init__(
        self,
        workbenches: Workbenches,
        candidates: CandidateStore | None = None,
        artefacts: ArtefactStore | None = None,
        *,
        grace_s: float = 10.0,
    ) -> None:
        """`artefacts` keeps the machine code that comes with reports."""
        self._workbenches = workbenches
        self._artefacts = artefacts
        self._candidates = candidates
        self._grace_s = grace_s
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="workbench")
        self._validations: dict[str, _Call[ValidationReport]] = {}
        self._evaluations: dict[str, _Call[EvaluationReport]] = {}
        self._answers: OrderedDict[str, EvaluationReport] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def validate(self, request: ValidationRequest) -> ValidationReport:
        """Run the problem's reference; callers for the same job share one run. Raises `InfrastructureError`."""
        if self._closed:
            raise QueueError("the evaluation queue is closed")
        call = self._validations.get(request.job_id)
        if call is None:
            call = _Call(
                request.job_id, lambda stopped: self._workbenches.of(request.device).validate(request, stopped)
            )
            self._start(self._validations, request.job_id, call)
        return await asyncio.shield(call.answer)

    async def evaluate(self, request: EvaluationRequest) -> EvaluationReport:
        """Judge a candidate, once an evaluation id."""
        known = await self._known(request.evaluation_id)
        if known is not None:
            return known
        if self._closed:
            return infrastructure_report(request, "the evaluation queue is closed")
        call = self._evaluations.get(request.evaluation_id)
        if call is None:
            call = _Call(
                request.job_id, lambda stopped: self._workbenches.of(request.device).evaluate(request, stopped)
            )
            self._start(self._evaluations, request.evaluation_id, call)
        try:
            report = await with_machine_code_kept(await asyncio.shield(call.answer), request, self._artefacts)
        except InfrastructureError as error:
            return infrastructure_report(request, str(error))
        self._remember(request.evaluation_id, report)
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
            await asyncio.wait(self._tasks, timeout=self._grace_s)
        # Past the grace a call hangs; closing the workbench takes its processes away, which ends it.
        await asyncio.to_thread(self._workbenches.close)
        await asyncio.to_thread(self._thread.shutdown)

    async def _known(self, evaluation_id: str) -> EvaluationReport | None:
        if evaluation_id in self._answers:
            return self._answers[evaluation_id]
        if self._candidates is None or evaluation_id in self._evaluations:
            return None
        report = await self._candidates.report(evaluation_id)
        return None if report is None or report.verdict is Verdict.INFRASTRUCTURE_ERROR else report

    def _remember(self, evaluation_id: str, report: EvaluationReport) -> None:
        if report.verdict is Verdict.INFRASTRUCTURE_ERROR:
            return
        self._answers[evaluation_id] = report
        if len(self._answers) > KEPT:
            self._answers.popitem(last=False)

    def _start(self, calls: dict[str, _Call[T]], key: str, call: _Call[T]) -> None:
        calls[key] = call

        async def run() -> None:
            try:
                await self._settle(call)
            finally:
                if calls.get(key) is call:
                    del calls[key]

        self._spawn(run())

    async def _settle(self, call: _Call[T]) -> None:
        """Run the call in its turn and give its answer, unless it was ended while it waited."""
        try:
            answer = await self._in_thread(lambda: _run(call))
        except InfrastructureError as error:
            _fail(call, error)
        except Exception as error:
            log.exception("the workbench failed for a fault of this program")
            _fail(call, InfrastructureError(f"internal error: {type(error).__name__}: {error}"))
        else:
            if not call.answer.done():
                call.answer.set_result(answer)

    def _stop(self, reason: str, job_id: str | None = None) -> None:
        """End calls: waiting ones and validations now; a running evaluation notices and answers soon."""
        for validation in _taken(self._validations, job_id):
            validation.stopped.set()
            _fail(validation, InfrastructureError(reason))
        for evaluation in _taken(self._evaluations, job_id):
            evaluation.stopped.set()
            if not evaluation.running:
                _fail(evaluation, InfrastructureError(reason))

    async def _free(self, job_id: str) -> None:
        try:
            await self._in_thread(lambda: self._workbenches.close_job(job_id))
        except InfrastructureError as error:
            log.warning("could not free what job %s held: %s", job_id, error)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _taken(calls: dict[str, _Call[T]], job_id: str | None) -> list[_Call[T]]:
    """The calls of a job (or all), taken out: whoever asks again, after a pause for instance, gets a new call."""
    keys = [key for key, call in calls.items() if job_id in {None, call.job_id}]
    return [calls.pop(key) for key in keys]


def _run(call: _Call[T]) -> T:
    """In the worker thread: the work, unless it was ended before its turn."""
    call.running = True
    if call.stopped.is_set():
        raise InfrastructureError("ended before its turn")
    return call.work(call.stopped.is_set)


def _fail(call: _Call[T], error: InfrastructureError) -> None:
    if not call.answer.done():
        call.answer.set_exception(error)
        call.answer.exception()  # read once, so that an answer nobody waits for is no warning
