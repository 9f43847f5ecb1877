"""Steps: one turn of the workflow with everything it used and produced; in order they are the trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from services.domain.candidates import Candidate
from services.domain.chat import AgentRole, ChatMessage, PlanFact
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.events import EventKind, JsonValue
from services.domain.experiences import Experience, ExperienceUse
from services.domain.jobs import Stage
from services.domain.usage import Usage


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """One call of a chat model as it happened."""

    role: AgentRole
    model: str
    prompt: tuple[ChatMessage, ...]
    """The rendered prompt."""
    prompt_hash: str
    """Hash of the prompt template's file, so that a change of wording can be told apart."""
    reply: str
    """The raw reply."""
    usage: Usage
    seconds: float
    error: str | None = None
    """Why the reply could not be used, when it could not."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One turn of the workflow."""

    job_id: str
    team_id: str
    index: int
    """From 0; (job_id, index) is unique."""
    stage: Stage
    start_point: str | None
    """Candidate it started from."""
    plan: PlanFact | None
    calls: tuple[ModelCall, ...]
    candidate_id: str | None
    evaluation_id: str | None
    verdict: Verdict | None
    experiences_used: tuple[str, ...]
    """Ids of the recalled experiences that were in the context."""
    reward: float | None
    """r1 in draft, r2 in refine; None where the step earns none (suspicious, infrastructure error, no candidate)."""
    critique: str | None = None
    failure: str | None = None
    """Why the step produced no candidate, when it did not."""
    started_at: datetime
    finished_at: datetime

    @property
    def usage(self) -> Usage:
        """Tokens and price of all its calls."""
        return sum((call.usage for call in self.calls), Usage())


@dataclass(frozen=True, kw_only=True)
class NewEvent:
    """An event to be appended in a step's transaction."""

    kind: EventKind
    data: dict[str, JsonValue]


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What memory learns from a step's evaluation, beside what the step itself says."""

    report: EvaluationReport
    family: str
    """Operator family of the problem."""
    site: str
    """Device and toolchain, as values are kept by."""
    holdout: bool = False
    """Whether memory was left out of the step on purpose."""
    searched: bool = True
    """Whether agents made the candidate; a kernel that came with the job says nothing about memory."""
    backend: str | None = None
    """Language of the candidate."""


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """Everything one step produced, written in one fenced transaction."""

    step: Step
    experiences: tuple[Experience, ...] = ()
    best_candidate_id: str | None = None
    """The job's best accepted candidate after this step."""
    uses: tuple[ExperienceUse, ...] = ()
    """How the experiences in `step.experiences_used` ranked; those left out are recorded without figures."""
    lesson: Lesson | None = None
    """What the evaluation teaches about the experiences in use; applied once, in the step's own transaction."""
    revised: Mapping[str, EvaluationReport] = field(default_factory=dict)
    """By evaluation: reports that take an accepted one's place, because a second opinion made the verdict stricter or a
    second measurement the interval wider."""
    events: tuple[NewEvent, ...] = field(default_factory=tuple)


@dataclass(frozen=True, kw_only=True)
class TrajectoryStep:
    """One line of an exported trajectory."""

    step: Step
    candidate: Candidate | None
    report: EvaluationReport | None
