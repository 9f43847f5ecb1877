"""Where an experience comes from and what came of it, as a graph whose arrows go from cause to effect."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from services.domain.evaluations import Verdict


class NodeKind(StrEnum):
    """What a node stands for."""

    EXPERIENCE = "experience"
    CANDIDATE = "candidate"
    JOB = "job"


class EdgeKind(StrEnum):
    """What one thing had to do with another."""

    USED = "used"
    """The experience was in the context that the candidate was made in."""
    STARTED = "started"
    """The candidate began as a change to the kernel that the experience is about."""
    TAUGHT = "taught"
    """The candidate's evaluation gave the experience."""
    MADE = "made"
    """The job made the candidate."""


@dataclass(frozen=True, kw_only=True)
class ProvenanceNode:
    """One thing in an experience's history."""

    id: str
    kind: NodeKind
    layer: int
    """0 the experience itself, below it what it came from, above it what came of it."""
    title: str
    """An experience's title; empty for candidates and jobs."""
    job_id: str | None
    """Of a candidate: the job that made it."""
    step: int | None
    """Of a candidate: its step, where that is known."""
    verdict: Verdict | None
    """Of a candidate, where it is known."""
    speedup: float | None
    """Against the fastest baseline, where it is known."""
    retracted: bool
    """Of an experience: whether it was taken back."""


@dataclass(frozen=True, kw_only=True)
class ProvenanceEdge:
    """An arrow from a cause to an effect."""

    source: str
    target: str
    kind: EdgeKind


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """The graph around one experience."""

    nodes: tuple[ProvenanceNode, ...]
    """In order of their layers; each id once."""
    edges: tuple[ProvenanceEdge, ...]
    cut: bool
    """Whether there is more than is shown: the graph is bounded."""
