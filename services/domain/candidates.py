"""Candidates: kernel sources with their lineage, and their places in a search."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from services.domain.evaluations import EvaluationReport
from services.domain.referees import is_proof


class Origin(StrEnum):
    """How a candidate came to be."""

    DRAFT = "draft"
    REFINEMENT = "refinement"
    REPAIR = "repair"
    SEED = "seed"
    RECALLED = "recalled"
    """What another job of the team proved, measured again here."""
    CONFIRMATION = "confirmation"
    """The same source again, to be measured a second time."""
    COMPILER = "compiler"
    """The code that torch.compile writes for the reference, as a candidate."""


def content_hash(text: str) -> str:
    """SHA-256 of a text in UTF-8, as 64 hexadecimal digits: the key under which sources and artefacts are stored."""
    return hashlib.sha256(text.encode()).hexdigest()


def candidate_id(job_id: str, step: int) -> str:
    """The id of the candidate that a step makes: the same on every resume, so nothing is made twice."""
    return f"cand-{content_hash(f'{job_id}/{step}/0')[:20]}"


def evaluation_id(candidate: str) -> str:
    """The id of a candidate's evaluation: one per candidate."""
    return f"eval-{candidate.removeprefix('cand-')}"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One kernel source: a Python module defining `ModelNew`."""

    id: str
    job_id: str
    team_id: str
    step: int
    """Index of the step that made it, from 0."""
    parent_id: str | None
    """The start point it was derived from."""
    origin: Origin
    backend: str
    source: str
    summary: str
    """One line: the plan's hypothesis in short."""
    created_at: datetime

    @property
    def source_hash(self) -> str:
        """Content hash of the source."""
        return content_hash(self.source)


@dataclass(frozen=True, kw_only=True)
class EvaluatedCandidate:
    """A candidate with its report, where there is one yet."""

    candidate: Candidate
    report: EvaluationReport | None
    verified_by: int | None = None
    """Version of the referee that accepted it last, where that is known beside the report."""

    @property
    def is_unproven(self) -> bool:
        """Whether it was accepted, but by an older referee only, or on the problem's own word."""
        if self.report is None or not self.report.accepted:
            return False
        return not is_proof(self.report.proven_by if self.verified_by is None else self.verified_by)


@dataclass(frozen=True, kw_only=True)
class PopulationMember:
    """One accepted candidate and its place."""

    candidate_id: str
    step: int
    """From 0."""
    island: int | None
    """From 0; None where the strategy has no islands."""
    traffic: str
    """How often data travels through memory: `one pass`, `few passes` or `many passes`."""
    parallelism: str
    """`serial`, `lanes`, `threads` or `threads and lanes`."""
    staging: str
    """Close memory and wide units: `plain`, `vector`, `tiled`, `tiled vector`, `shared` or `tensor core`."""
    size: str
    """`short`, `medium`, `long` or `very long`."""
    elite: bool
    """Whether it is the fastest of those that behave as it does."""


@dataclass(frozen=True, kw_only=True)
class Population:
    """A job's accepted candidates by place, in order of their steps."""

    strategy: str
    islands: int
    """How many there are; 0 where the strategy has none."""
    members: tuple[PopulationMember, ...]
