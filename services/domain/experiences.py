"""Experiences: what the team's memory holds, what a step asks of it, where one comes from, and how it is carried."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from services.domain.candidates import content_hash
from services.domain.evaluations import Verdict
from services.domain.jobs import Stage
from services.domain.referees import SELF_ATTESTED, is_proof


class ExperienceKind(StrEnum):
    """Kinds of memory items (EvoKernel section 3.1)."""

    API_TEMPLATE = "api_template"
    BEST_PRACTICE = "best_practice"
    SUCCESS = "success"
    """Written beside the trace by earlier versions, without its code; forgotten since, and made no more."""
    FAILURE = "failure"
    TRACE = "trace"


@dataclass(frozen=True, kw_only=True)
class Experience:
    """One memory item. Its text is data for a prompt, never an instruction."""

    id: str
    team_id: str
    kind: ExperienceKind
    stage: Stage
    """The stage it was made in."""
    family: str
    """Operator family of the problem it comes from; `any` for seed knowledge."""
    backend: str
    device: str
    toolchain: str
    title: str
    """One line that says what it is about."""
    text: str
    """What was learned, in words."""
    code: str | None
    """Source the item is about, where it has one."""
    dtype: str | None = None
    """Floating-point type of the problem it comes from, for example `float32`."""
    shape_class: str | None = None
    """Coarse class of that problem's shapes (`services.memory.keys.shape_class`)."""
    moves: tuple[str, ...] = ()
    """Optimisation moves applied, by name."""
    verdict: Verdict | None = None
    referee: int | None = None
    """Version of the referee that accepted it last, or `SELF_ATTESTED`; None where it is not known, and for what was
    never accepted."""
    bottleneck: str | None = None
    speedup: float | None = None
    """Against the best baseline, for accepted candidates."""
    median_us: float | None = None
    job_id: str | None = None
    candidate_id: str | None = None
    used: tuple[str, ...] = ()
    """Provenance: ids of the experiences in use when it was made."""
    created_at: datetime

    @property
    def is_learned_practice(self) -> bool:
        """Whether it is a practice that agents drew from a job: unlike what experts wrote, it is merged and retired."""
        return self.kind is ExperienceKind.BEST_PRACTICE and self.job_id is not None

    @property
    def is_unproven(self) -> bool:
        """Whether it was accepted, but by an older referee only, or on the problem's own word."""
        return self.verdict is Verdict.ACCEPTED and not is_proof(self.referee)

    @property
    def is_self_attested(self) -> bool:
        """Whether it was accepted on the problem's own word."""
        return self.verdict is Verdict.ACCEPTED and self.referee == SELF_ATTESTED

    @property
    def content_key(self) -> str:
        """Key for de-duplication: same kind, family, backend, text and code are the same experience.

        Traces of different candidates stay apart: a trace is its candidate's start point. So do learned practices that
        say different things with the same evidence."""
        owner = (self.candidate_id or "") if self.kind is ExperienceKind.TRACE else ""
        owner = self.title if self.is_learned_practice else owner
        parts = (self.kind, self.family, self.backend, self.device, self.text, self.code or "", owner)
        return content_hash("\x1f".join(parts))


_MEASURED = re.compile(
    r"( at|,)? ?\b\d+(\.\d+)? ?(µs|ms|%|×( the best baseline)?)(?!\w)( \(\d+(\.\d+)? to \d+(\.\d+)?\))?"
)
"""A time, share or ratio with its interval: ` at 137.0 µs (136.1 to 138.2)`, `, 1.46× the best baseline`."""


EVIDENCE = "Evidence: "
"""Begins the line of a practice that says which measurements it rests on."""
_EVIDENCE = re.compile(rf"^{EVIDENCE}.*\n?", re.MULTILINE)


def embedded_text(title: str, text: str, family: str) -> str:
    """What an experience's vector stands for: everything but measurements (their figures, and the evidence of a
    practice), which make no two experiences alike."""
    return _MEASURED.sub("", _EVIDENCE.sub("", f"{title}\n{text}\n{family}"))


def experience_id(candidate: str, kind: ExperienceKind) -> str:
    """The id of the experience of one kind that a candidate gives: the same on every resume."""
    return f"exp-{content_hash(f'{candidate}/{kind}')[:20]}"


@dataclass(frozen=True, kw_only=True)
class RecallQuery:
    """What a step asks of memory."""

    team_id: str
    stage: Stage
    text: str
    """Description of the problem and its state: what similarity is measured against."""
    family: str
    backend: str
    device: str
    bottleneck: str | None = None
    dtype: str | None = None
    """Floating-point type of the problem; None fits every experience."""
    shape_class: str | None = None
    """Coarse class of the problem's shapes; None fits every experience."""
    site: str | None = None
    """Device and toolchain, as values are kept by; None for the device alone."""
    start_point: str | None = None
    """Candidate that the step refines."""
    left_out: tuple[str, ...] = ()
    """Experiences that are not wanted: those of the asking job's own steps, which its prompts tell anyway."""
    experts_only: bool = False
    """Whether only what was written by hand comes (practices, API sheets), as in a step that goes without memory."""
    limit: int = 6
    """How many experiences to return at most."""
    seed: int = 0
    """Seed of the selection; the same query on the same memory returns the same items."""


@dataclass(frozen=True, kw_only=True)
class RecalledExperience:
    """An experience in the context of a step."""

    experience: Experience
    similarity: float
    """Cosine similarity to the query, -1 to 1."""
    value: float | None = None
    """Learned value at the query's stage; None where none has been learned."""


@dataclass(frozen=True, kw_only=True)
class ExperienceUse:
    """That an experience was in a step's context, and how it ranked there."""

    experience_id: str
    similarity: float
    """Cosine similarity to the step's query, -1 to 1."""
    value: float | None = None
    """Learned value when it was chosen; None where none had been learned."""


@dataclass(frozen=True, kw_only=True)
class StartValues:
    """What memory thinks of a job's possible start points."""

    values: Mapping[str, float]
    """Q₂ by candidate, on the reward's own scale; a candidate that memory does not know is missing."""
    outcomes: int = 0
    """Evaluations that the team's memory has learned from, for exploration that falls with them."""


@dataclass(frozen=True, kw_only=True)
class ExperienceFilter:
    """Which experiences a list shows; None leaves a key open."""

    kind: ExperienceKind | None = None
    family: str | None = None
    backend: str | None = None
    verdict: Verdict | None = None
    job_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExperiencePage:
    """One page of a list, newest first."""

    experiences: tuple[Experience, ...]
    next_cursor: str | None
    """Pass it to get the following page; None on the last one."""


@dataclass(frozen=True, kw_only=True)
class StepUse:
    """One step that had an experience in its context."""

    job_id: str
    step: int
    candidate_id: str | None
    """What the step made; None where it made nothing."""
    stage: Stage
    similarity: float | None
    """Cosine similarity to the step's query; None where it was not recorded."""
    value: float | None
    """Learned value when it was chosen."""
    verdict: Verdict | None
    reward: float | None
    at: datetime


@dataclass(frozen=True, kw_only=True)
class MemoryShare:
    """That one team may recall another one's experiences."""

    team_id: str
    """Whose experiences."""
    reader: str
    granted_by: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class MemoryAction:
    """One line of the memory's audit: who changed it by hand, and why."""

    action: str
    """`retract`, `import`, `merge`, `forget`, `share` or `unshare`."""
    subject: str
    """Experience, evaluation or team that it is about."""
    reason: str
    actor: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """Vectors and the space they are in."""

    space: str
    """Name of the embedder that made them; compare them with vectors of the same name only."""
    vectors: list[list[float]]
    """One of unit length per text."""


@dataclass(frozen=True, kw_only=True)
class ExportedValue:
    """Learned value of an experience at one stage, overall."""

    stage: Stage
    value: float
    visits: float


@dataclass(frozen=True, kw_only=True)
class MemoryLine:
    """One experience of an exported memory."""

    experience: Experience
    vector: tuple[float, ...] | None = None
    values: tuple[ExportedValue, ...] = ()


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
