"""What leaves the database: deleted jobs, and what is kept for a time only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Deletion:
    """What went with a job that was deleted."""

    job_id: str
    steps: int
    candidates: int
    evaluations: int
    events: int
    experiences: int
    """Lessons of the job; the credit that its evaluations gave to others is taken back."""
    contents: int
    """Sources, prompts, replies and artefacts that nothing else refers to."""
    content_bytes: int


@dataclass(frozen=True, kw_only=True)
class Retention:
    """Days that parts of a job are kept after its end; None keeps them for good."""

    events_days: float | None = None
    trajectories_days: float | None = None
    """Plans, critiques, prompts and replies; verdicts, usage and kernels stay."""
    artefacts_days: float | None = None
    """What a job kept to be resumed from."""


@dataclass(frozen=True, kw_only=True)
class Expired:
    """What one round of retention removed."""

    jobs: int = 0
    """Jobs of which something went; one may count once for each kind."""
    contents: int = 0
    files: int = 0
    """Files of removed artefacts."""
