"""One problem of one job: its referee while it lives, and what is known without it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TypeVar

from services.domain.errors import InfrastructureError
from services.domain.measurements import Baselines
from services.domain.problems import ProblemAnalysis
from services.domain.validations import ProblemRefusal
from workers.judging.referee_process import RefereeProcess
from workers.judging.work import Work
from workers.referee.protocol import RefereeRequest, RequestFailed, RequestRefused

T = TypeVar("T")


@dataclass(kw_only=True)
class Case:
    """A problem that is judged."""

    job_id: str
    process: RefereeProcess | None = None
    analysis: ProblemAnalysis | None = None
    baselines: Baselines = field(default_factory=Baselines)
    measured_at: float = field(default_factory=time.monotonic)
    """When the baselines were last measured."""
    notes: tuple[str, ...] = ()
    """What the referee says about the problem's list of shapes."""

    def know(self, baselines: Baselines) -> None:
        """Keep what a referee has measured."""
        if baselines != self.baselines:
            self.baselines, self.measured_at = baselines, time.monotonic()

    def ask(self, request: RefereeRequest, expected: type[T], work: Work, limit_s: float) -> T | ProblemRefusal:
        """One conversation; whatever breaks it ends the referee, so that the next one starts afresh.

        Raises `InfrastructureError`, for a reply of another kind too."""
        assert self.process is not None
        try:
            reply = self.process.ask(request, work, limit_s=limit_s)
        except BaseException:
            self.discard()
            raise
        if isinstance(reply, RequestRefused):
            return reply.refusal
        if isinstance(reply, expected):
            return reply
        reason = reply.reason if isinstance(reply, RequestFailed) else "the referee answered something else"
        raise InfrastructureError(reason)

    def discard(self) -> None:
        """End the referee."""
        process, self.process = self.process, None
        if process is not None:
            process.close()
