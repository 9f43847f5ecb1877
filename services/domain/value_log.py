"""Entries of the value log, an append-only list of what happened: one list a team.

They hold facts (who was in the context, was the candidate accepted, how fast), never values or rewards.
"""

from __future__ import annotations

from dataclasses import dataclass

from services.domain.jobs import Stage


@dataclass(frozen=True, kw_only=True)
class ContextItem:
    """An experience that was in the context of a step."""

    experience_id: str
    similarity: float
    """Cosine similarity to the step's query, -1 to 1."""


@dataclass(frozen=True, kw_only=True)
class OutcomeEntry:
    """One evaluation that counts (`accepted` or `rejected`; `suspicious` and `infrastructure_error` are not logged)."""

    seq: int
    """Position in the team's log, from 1, without gaps."""
    evaluation_id: str
    """Unique in the log: an outcome is applied once, whatever is redelivered."""
    job_id: str
    step: int
    """Index of the step in its job; a job's outcomes are logged in this order."""
    family: str
    site: str
    """Device and toolchain, for example `cpu/g++ 12.2`: a value learned elsewhere is a prior here."""
    accepted: bool
    median_us: float | None = None
    """Latency of an accepted candidate."""
    speedup: float | None = None
    """Against the best baseline, for accepted candidates."""
    context: tuple[ContextItem, ...] = ()
    """The experiences in the context; empty in a holdout step."""
    start_point: str | None = None
    """Trace experience of the candidate it was derived from."""
    made: tuple[str, ...] = ()
    """Experiences written about this candidate: their provenance is this entry's context and start point."""
    holdout: bool = False
    """Whether memory was left out on purpose, to measure its effect."""
    searched: bool = True
    """Whether agents made the candidate; a kernel that came with the job says nothing about memory."""
    backend: str | None = None
    """Language of the candidate; None where it was not recorded."""


@dataclass(frozen=True, kw_only=True)
class RetractionEntry:
    """A candidate was found to cheat: its outcome and its experiences count for nothing, then, now and later."""

    seq: int
    evaluation_id: str
    reason: str
    actor: str
    """Who retracted it, for the audit."""


@dataclass(frozen=True, kw_only=True)
class MergeEntry:
    """Two near-duplicates are one experience from now on, with the history of both."""

    seq: int
    kept: str
    absorbed: str


@dataclass(frozen=True, kw_only=True)
class PriorEntry:
    """A value that came with an imported experience: where learning starts, outweighed by what is seen here."""

    seq: int
    experience_id: str
    stage: Stage
    value: float
    """On the reward's own scale, -1 to 1."""
    visits: float
    """How many rewards it stood for where it was learned."""
    source: str
    """Where it came from, for the audit."""


LogEntry = OutcomeEntry | RetractionEntry | MergeEntry | PriorEntry
