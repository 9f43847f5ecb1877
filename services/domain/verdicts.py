"""Verdicts that were stored earlier, and what became of them when the candidate was judged again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from services.domain.evaluations import Environment, EvaluationReport, EvaluationRequest, Verdict

UNSOLVED = "its kernel did not hold when it was judged again"
"""What is said of a job that an accepted result made solved, and that has none any more."""


@dataclass(frozen=True, kw_only=True)
class StoredVerdict:
    """An accepted result as it stands."""

    request: EvaluationRequest
    """What was asked: the candidate's source and its problem, as they were."""
    report: EvaluationReport
    verified: Environment
    """Under what it was last found right: the report's own environment, or that of a later verification."""
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Verification:
    """A candidate judged again."""

    evaluation_id: str
    candidate_id: str
    job_id: str
    problem: str
    """The problem's name."""
    before: Environment
    """Under what it had been accepted."""
    now: Environment
    verdict: Verdict
    """Today's."""
    evidence: str
    """What speaks against it today; empty where it holds."""
    retracted: tuple[str, ...] = ()
    """Experiences that were taken out of memory."""

    @property
    def holds(self) -> bool:
        """Whether it is accepted today too."""
        return self.verdict is Verdict.ACCEPTED

    @property
    def is_verdict(self) -> bool:
        """Whether the machine was able to judge."""
        return self.verdict is not Verdict.INFRASTRUCTURE_ERROR


def outdated(then: Environment, today: Environment) -> str | None:
    """Why a result needs to be looked at again: `referee 1, now 2`; None where nothing that judges has changed."""
    pairs = (
        ("referee", then.referee_version, today.referee_version),
        ("compiler", then.toolkit, today.toolkit),
        ("torch", then.torch, today.torch),
    )
    changes = [f"{name} {old or 'none'}, now {new or 'none'}" for name, old, new in pairs if old != new]
    return "; ".join(changes) or None
