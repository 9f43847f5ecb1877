"""A worker that takes its orders from a spool: no broker, no database, no network."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from services.adapters.spool.claims import SpoolClaim, SpoolClaims
from services.adapters.spool.messages import SpooledReport
from services.adapters.spool.nodes import SpoolPresence
from services.domain.errors import DeviceLostError, InfrastructureError, StorageError
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.validations import ValidationReport
from services.ports.runtime import Clock
from services.ports.work import Workbench
from services.telemetry.logs import log_context

log = logging.getLogger(__name__)
ANSWER_RETRY_S = 600.0
"""So long an answer is kept for a spool whose disk is full or away; then the order is put back for another node."""


@dataclass(frozen=True, kw_only=True)
class SpoolPace:
    """How a worker looks at its spool, and when it stops by itself."""

    once: bool = False
    """Whether to stop when nothing is left that this node could take."""
    idle_exit_s: float | None = None
    """Stop after so long without an order."""
    poll_s: float = 1.0
    """Pause between looks at a spool without orders."""
    beat_s: float = 2.0
    """How often it says that it is at work on an order, and learns that nobody wants it any more."""
    answer_retry_s: float = ANSWER_RETRY_S


class SpoolWorker:
    """Does the orders of a spool, one at a time."""

    def __init__(
        self,
        claims: SpoolClaims,
        workbench: Workbench,
        clock: Clock,
        pace: SpoolPace,
        presence: SpoolPresence | None,
        check_device: Callable[[], None] = lambda: None,
        lacking: str | None = None,
    ) -> None:
        """`check_device` is called before each order, and raises `DeviceLostError` where the device is gone. `lacking`:
        which orders it leaves to others, and why."""
        self._lacking = lacking
        self._claims = claims
        self._workbench = workbench
        self._clock = clock
        self._pace = pace
        self._presence = presence
        self._check_device = check_device
        self._warm: set[str] = set()
        """Jobs that the workbench may keep something for."""
        self._stopping = threading.Event()
        self._aborting = threading.Event()
        self.done = 0
        """Orders answered."""

    def stop(self) -> None:
        """Take nothing new and end when the order at hand is answered; at the second call at once, putting it back."""
        if self._stopping.is_set():
            self._aborting.set()
        self._stopping.set()

    def run(self) -> int:
        """Work until told to stop, or as the pace says; how many orders were answered.

        Raises `DeviceLostError` where the device is gone; then nothing was taken, or it was put back."""
        idle_since = self._clock.monotonic()
        away = False
        while not self._stopping.is_set():
            self._check_device()
            try:
                claim = self._claims.take()
                away = False
            except StorageError as error:
                if self._pace.once:
                    raise
                if not away:
                    log.warning("waiting for the spool: %s", error)
                claim, away = None, True
            if claim is not None:
                self._do(claim)
                idle_since = self._clock.monotonic()
            elif self._is_finished(idle_since):
                break
            else:
                self._rest()
        return self.done

    def _is_finished(self, idle_since: float) -> bool:
        if self._pace.once:
            return self._claims.undecided == 0
        limit = self._pace.idle_exit_s
        return limit is not None and self._clock.monotonic() - idle_since >= limit

    def _rest(self) -> None:
        """Use a pause to free what is kept for jobs that have ended."""
        for job_id in [job_id for job_id in self._warm if self._claims.has_ended(job_id)]:
            self._free(job_id)
        if self._presence is not None:
            self._presence.troubled(next(iter(self._claims.left.values()), self._lacking))
        self._stopping.wait(self._pace.poll_s)

    def _free(self, job_id: str) -> None:
        self._warm.discard(job_id)
        self._workbench.close_job(job_id)

    def _do(self, claim: SpoolClaim) -> None:
        """Do an order while its claim is kept alive, and leave the answer."""
        began = time.monotonic()
        keeping = _KeptClaim(self._claims, claim, self._pace.beat_s, self._aborting)
        with log_context(job=claim.request.job_id, order=claim.order.about), keeping as kept:
            try:
                answer = self._answer(claim, kept)
            except DeviceLostError as error:
                self._put_back(claim, error)
                raise
            if kept.lost:
                log.info("nobody wants the order %s any more", claim.order.about)
                self._free(claim.request.job_id)
            elif self._aborting.is_set():
                self._claims.release(claim)
            else:
                self._leave(claim, answer, kept)
        if self._presence is not None:
            self._presence.worked(time.monotonic() - began)

    def _answer(self, claim: SpoolClaim, kept: _KeptClaim) -> SpooledReport | str:
        """The report, or why the machine could not give one."""
        if claim.poisonous:
            return f"the worker died {claim.named.attempt - 1} times on it"
        self._warm.add(claim.request.job_id)
        try:
            report = _judged(self._workbench, claim, kept.is_stopped)
        except DeviceLostError:
            raise
        except InfrastructureError as error:
            return str(error) or type(error).__name__
        except Exception as error:
            log.exception("order %s failed for a fault of this program", claim.order.about)
            return f"internal error: {type(error).__name__}: {error}"
        if isinstance(report, EvaluationReport) and report.verdict is Verdict.INFRASTRUCTURE_ERROR:
            return "; ".join(gate.detail for gate in report.gates if gate.detail) or "the worker could not evaluate it"
        return report

    def _leave(self, claim: SpoolClaim, answer: SpooledReport | str, kept: _KeptClaim) -> None:
        """Write an answer that cost minutes, again while the spool's disk is full or away."""
        deadline = time.monotonic() + self._pace.answer_retry_s
        while True:
            try:
                first = (
                    self._claims.fail(claim, answer) if isinstance(answer, str) else self._claims.answer(claim, answer)
                )
            except StorageError as error:
                if time.monotonic() > deadline or self._aborting.is_set() or kept.lost:
                    self._put_back(claim, error)
                    return
                log.warning("the answer to %s waits: %s", claim.order.about, error)
                self._aborting.wait(1.0)
                continue
            if first:
                self.done += 1
                log.info("answered %s (%s) %s", claim.order.about, claim.order.label, _told(answer))
            return

    def _put_back(self, claim: SpoolClaim, why: InfrastructureError) -> None:
        log.error("there is no answer to %s, and its order is put back: %s", claim.order.about, why)
        try:
            self._claims.release(claim)
        except StorageError as error:  # its lease runs out, and another node takes it
            log.warning("%s could not be put back: %s", claim.order.about, error)


class _KeptClaim:
    """Keeps a claim alive from a thread while its order is done."""

    def __init__(self, claims: SpoolClaims, claim: SpoolClaim, beat_s: float, aborting: threading.Event) -> None:
        self._claims = claims
        self._claim = claim
        self._beat_s = beat_s
        self._aborting = aborting
        self._ended = threading.Event()
        self.lost = False
        """Whether the claim is gone."""
        self._thread = threading.Thread(target=self._run, name="claim", daemon=True)

    def __enter__(self) -> _KeptClaim:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def is_stopped(self) -> bool:
        """Whether the work is wanted no more."""
        return self.lost or self._aborting.is_set()

    def _run(self) -> None:
        while not self._ended.wait(self._beat_s):
            try:
                if not self._claims.beat(self._claim):
                    self.lost = True
                    return
            except StorageError as error:
                log.warning("no heartbeat for %s: %s", self._claim.order.about, error)


def _judged(workbench: Workbench, claim: SpoolClaim, stopped: Callable[[], bool]) -> SpooledReport:
    if isinstance(claim.request, EvaluationRequest):
        return workbench.evaluate(claim.request, stopped)
    return workbench.validate(claim.request, stopped)


def _told(answer: SpooledReport | str) -> str:
    if isinstance(answer, str):
        return f"fault: {answer}"
    if isinstance(answer, ValidationReport):
        return "validated" if answer.refusal is None else f"problem refused: {answer.refusal.reason}"
    return answer.verdict.value
