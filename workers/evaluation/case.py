"""One problem of one job: its referee while it lives, and what is known without it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from services.domain.errors import InfrastructureError
from services.domain.measurements import Baselines
from services.domain.problems import ProblemAnalysis
from services.domain.texts import with_visible_texts
from services.domain.validations import ProblemRefusal
from workers.evaluation.referee_process import RefereeProcess
from workers.referee.boundary.requests import RefereeReply, RequestFailed, RequestRefused

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

    @contextmanager
    def conversation(self) -> Iterator[RefereeProcess]:
        """The referee, for one request; whatever breaks the conversation ends it, so that the next one starts
        afresh."""
        assert self.process is not None
        try:
            yield self.process
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """End the referee."""
        process, self.process = self.process, None
        if process is not None:
            process.close()


def answer_in(reply: RefereeReply, expected: type[T]) -> T | ProblemRefusal:
    """What a referee's reply says. Raises `InfrastructureError` where it failed, and for a reply of another kind.

    All that candidates, problems and compilers wrote comes through here, and goes to reports, terminals and prompts."""
    reply = with_visible_texts(reply)
    if isinstance(reply, RequestRefused):
        return reply.refusal
    if isinstance(reply, expected):
        return reply
    reason = reply.reason if isinstance(reply, RequestFailed) else "the referee answered something else"
    raise InfrastructureError(reason)
