"""A workbench for queue tests: slow or failing on demand, and it notices a second user."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from services.domain.errors import DeviceLostError, ToolchainError
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.validations import ValidationReport, ValidationRequest
from services.ports.work import Workbench
from tests.doubles import a_device, a_report, an_analysis

LOST = "lose the device"


class RecordingWorkbench(Workbench):
    """Sources say what to do: `hang` (until cancelled), `break` (no compiler), `bug`, `flaky` (breaks once), `LOST`."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self._device = threading.Lock()
        self.calls: list[str] = []
        self.freed: list[str] = []
        self.closed = False

    def of(self, _device: str) -> Workbench:
        return self

    def validate(self, request: ValidationRequest, cancelled: Callable[[], bool] = lambda: False) -> ValidationReport:
        self.calls.append(f"validate {request.job_id}")
        if request.problem.source == "break":
            raise ToolchainError("no g++ on this machine")
        time.sleep(self._seconds)
        return ValidationReport(analysis=an_analysis(), refusal=None, device=a_device())

    def evaluate(self, request: EvaluationRequest, cancelled: Callable[[], bool]) -> EvaluationReport:
        self.calls.append(request.evaluation_id)
        assert self._device.acquire(blocking=False), "two users of one device"
        try:
            return self._judge(request, cancelled)
        finally:
            self._device.release()

    def close_job(self, job_id: str) -> None:
        self.freed.append(job_id)

    def close(self) -> None:
        self.closed = True

    def _judge(self, request: EvaluationRequest, cancelled: Callable[[], bool]) -> EvaluationReport:
        time.sleep(self._seconds)
        while request.source == "hang":
            if cancelled() or self.closed:
                return a_report(Verdict.INFRASTRUCTURE_ERROR)
            time.sleep(0.005)
        if request.source == LOST:
            raise DeviceLostError("GPU 0 is gone: reset the card or restart the machine")
        if request.source == "bug":
            raise ZeroDivisionError("a bug of ours")
        if request.source == "break" or (request.source == "flaky" and self.calls.count(request.evaluation_id) == 1):
            raise ToolchainError("no g++ on this machine")
        return a_report()
