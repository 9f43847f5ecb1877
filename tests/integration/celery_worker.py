"""The Celery application that the integration test's worker runs: `celery -A tests.integration.celery_worker`."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from services.domain.errors import DeviceLostError
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.nodes import Offer
from services.domain.validations import ValidationReport, ValidationRequest
from services.ports.work import Workbench
from services.runtime.clock import SystemClock
from storage.database import Database
from storage.jobs.work_orders import SqlWorkStore
from tests.doubles import a_device, a_report, an_analysis
from workers.queue.orders import WorkerContext
from workers.queue.tasks import CelerySettings, create_app


class LoggingWorkbench(Workbench):
    """Writes down what it does; sources say what to do: `die` (SIGKILL to itself), `hang` (until cancelled),
    `wait N` (N seconds), `lose` (the device is gone, when first asked)."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def validate(self, request: ValidationRequest, cancelled: Callable[[], bool] = lambda: False) -> ValidationReport:
        self._note(f"validate {request.job_id}")
        return ValidationReport(analysis=an_analysis(), refusal=None, device=a_device())

    def evaluate(self, request: EvaluationRequest, cancelled: Callable[[], bool]) -> EvaluationReport:
        self._note(f"{request.source} {request.candidate_id}")
        if request.source == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if request.source == "lose" and self._path.read_text().count("lose ") == 1:
            raise DeviceLostError("GPU 0 is gone: reset the card or restart the machine")
        if request.source.startswith("wait "):
            time.sleep(float(request.source.split()[1]))
        while request.source == "hang":
            if cancelled():
                self._note(f"stopped {request.candidate_id}")
                break
            time.sleep(0.02)
        return a_report()

    def close_job(self, job_id: str) -> None:
        self._note(f"freed {job_id}")

    def close(self) -> None:
        self._note("closed")

    def _note(self, line: str) -> None:
        with self._path.open("a") as file:
            file.write(f"{line}\n")


def open_context() -> WorkerContext:
    database = Database(os.environ["TEST_DATABASE"])
    return WorkerContext(
        orders=SqlWorkStore(database, SystemClock()),
        workbench=LoggingWorkbench(Path(os.environ["TEST_LOG"])),
        offer=Offer(device=os.environ["TEST_DEVICE"], backends=("cpp",), evaluator="logging"),
    )


app = create_app(CelerySettings(broker_url=os.environ["TEST_BROKER"], claim_ttl_s=5.0, beat_s=0.2), open_context)
