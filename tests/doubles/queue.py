"""An evaluation queue whose reports are scripted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from services.domain.errors import QueueError
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.validations import ValidationReport, ValidationRequest
from services.ports.work import EvaluationQueue
from tests.doubles.builders import a_device, a_report, an_analysis

Judge = Callable[[EvaluationRequest], EvaluationReport | Exception]


class FakeQueue(EvaluationQueue):
    """Answers from a list of reports in order, or from a function of the request.

    Work is done once per evaluation id, as the port promises, except that an `infrastructure_error` is forgotten, so
    that asking again tries again.
    """

    def __init__(
        self,
        reports: Sequence[EvaluationReport] | Judge = (),
        *,
        validation: ValidationReport | Exception | None = None,
        latency_s: float = 0.0,
    ) -> None:
        self._judge = reports if callable(reports) else None
        self._left: Iterator[EvaluationReport] = iter(()) if callable(reports) else iter(reports)
        self._validation = validation or ValidationReport(analysis=an_analysis(), refusal=None, device=a_device())
        self._latency_s = latency_s
        self._work: dict[str, tuple[str, asyncio.Task[EvaluationReport]]] = {}
        self._closed = False
        self.validated: list[ValidationRequest] = []
        """Validations asked for, in order."""
        self.evaluated: list[EvaluationRequest] = []
        """Evaluations really begun, in order: an id twice means its work was done twice."""
        self.cancelled: list[str] = []
        """Jobs that were cancelled."""

    async def validate(self, request: ValidationRequest) -> ValidationReport:
        """The scripted validation. Raises what it was given, and `QueueError` after `close`."""
        if self._closed:
            raise QueueError("the queue is closed")
        self.validated.append(request)
        await asyncio.sleep(0)
        if isinstance(self._validation, Exception):
            raise self._validation
        return self._validation

    async def evaluate(self, request: EvaluationRequest) -> EvaluationReport:
        """The scripted report; an exhausted list of reports accepts at 100 µs."""
        if self._closed:
            return a_report(Verdict.INFRASTRUCTURE_ERROR)
        known = self._work.get(request.evaluation_id)
        if known is None:
            known = (request.job_id, asyncio.create_task(self._run(request)))
            self._work[request.evaluation_id] = known
        try:
            report = await asyncio.shield(known[1])
        except asyncio.CancelledError:
            if not known[1].cancelled():
                raise  # the caller was cancelled, not the work
            report = a_report(Verdict.INFRASTRUCTURE_ERROR)
        except Exception:
            self._forget(request.evaluation_id, known[1])
            raise
        if report.verdict is Verdict.INFRASTRUCTURE_ERROR:
            self._forget(request.evaluation_id, known[1])
        return report

    async def cancel(self, job_id: str) -> None:
        """End the job's pending evaluations."""
        self.cancelled.append(job_id)
        await self._stop([task for owner, task in self._work.values() if owner == job_id])

    async def close(self) -> None:
        """End everything that is pending."""
        self._closed = True
        await self._stop([task for _, task in self._work.values()])

    async def _run(self, request: EvaluationRequest) -> EvaluationReport:
        self.evaluated.append(request)
        await asyncio.sleep(self._latency_s)
        outcome = self._judge(request) if self._judge is not None else next(self._left, None)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome or a_report()

    def _forget(self, evaluation_id: str, task: asyncio.Task[EvaluationReport]) -> None:
        known = self._work.get(evaluation_id)
        if known is not None and known[1] is task:
            del self._work[evaluation_id]

    async def _stop(self, tasks: list[asyncio.Task[EvaluationReport]]) -> None:
        pending = [task for task in tasks if not task.done()]
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
