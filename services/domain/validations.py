"""Whether a problem can be used: what a worker is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from services.domain.devices import DeviceSheet
from services.domain.measurements import Baselines
from services.domain.problems import Problem, ProblemAnalysis


@dataclass(frozen=True, kw_only=True)
class ValidationRequest:
    """Ask a worker to run a problem's reference: is it usable, and what is it made of?"""

    job_id: str
    team_id: str
    problem: Problem
    device: str
    backend: str
    baselines: tuple[str, ...] = ("eager", "compile")
    """Which of the reference's latencies are wanted; a worker leaves dear ones to the first evaluation."""
    draft: bool = False
    """Whether the compiler's own code is wanted as a candidate."""


@dataclass(frozen=True, kw_only=True)
class CompilerDraft:
    """The compiler's own code as a candidate: exactly one of `source` and `reason` is set."""

    source: str | None = None
    """The candidate's module."""
    reason: str | None = None
    """Why there is none, in a sentence without its full stop."""


@dataclass(frozen=True, kw_only=True)
class ProblemRefusal:
    """Why a problem cannot be used, in terms of its file."""

    reason: str
    remedy: str
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class ValidationReport:
    """A worker's answer: exactly one of `analysis` and `refusal` is set."""

    analysis: ProblemAnalysis | None
    refusal: ProblemRefusal | None
    device: DeviceSheet | None
    baselines: Baselines = field(default_factory=Baselines)
    """Measured on the way, where they were cheap to get."""
    seconds: float = 0.0
    draft: CompilerDraft | None = None
    """The compiler's own code, where it was asked for."""
    notes: tuple[str, ...] = ()
    """What became of the problem's list of shapes: how it is sampled, duplicates, entries that are refused. And which
    baselines are absent, and why: they are wrong, or they failed."""
