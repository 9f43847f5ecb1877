"""Chat: what an agent asks a model, what comes back, and what waits for an answer from outside."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from services.domain.candidates import content_hash
from services.domain.codec import dumps
from services.domain.devices import DeviceSheet
from services.domain.evaluations import EvaluationReport
from services.domain.events import JsonValue
from services.domain.experiences import RecalledExperience
from services.domain.jobs import LOCAL_TEAM, AgentsMode, Stage
from services.domain.measurements import Baselines
from services.domain.problems import Problem, ProblemAnalysis
from services.domain.usage import Usage


class AgentRole(StrEnum):
    """Who is asking."""

    PLANNER = "planner"
    CODER = "coder"
    JUDGE = "judge"
    PROFILER = "profiler"


@dataclass(frozen=True, kw_only=True)
class ChatMessage:
    """One rendered message."""

    role: str
    """`system`, `user` or `assistant`."""
    content: str


@dataclass(frozen=True, kw_only=True)
class MoveFact:
    """One optimisation move with its parameters, as a plan names it."""

    name: str
    """For example `fuse`, `vectorise`, `parallelise`, `tile_rows`, `split_reduction`, `online_softmax`."""
    parameters: tuple[tuple[str, int | float | str | bool], ...] = ()
    """Tunables of the move as (name, value)."""


@dataclass(frozen=True, kw_only=True)
class HypothesisFact:
    """One node of the tree of ideas that a Planner keeps (K-Search's world model); the same id again replaces it."""

    id: str
    parent: str | None
    """The idea that this one builds on; None for one about the problem itself."""
    statement: str
    difficulty: float = 0.5
    """How hard it is to get right, 0 to 1."""
    score: float = 0.5
    """How promising it is by all that is known, 0 to 1."""
    refuted: bool = False
    """Whether the evidence speaks against it: it is not tried again."""


@dataclass(frozen=True, kw_only=True)
class PlanFact:
    """The Planner's answer, as later agents see it."""

    start_point: str | None
    """Candidate to start from; None for a fresh draft."""
    hypothesis: str
    moves: tuple[MoveFact, ...]
    expected_gain: float
    """Expected latency ratio, old over new."""
    hypothesis_id: str | None = None
    """The idea of the tree that the plan tries, where the strategy keeps one."""
    hypotheses: tuple[HypothesisFact, ...] = ()
    """Ideas that the Planner added or rescored."""
    diagnosis: str | None = None
    """What is wrong with the start point or limits it, where one call diagnoses and plans."""


@dataclass(frozen=True, kw_only=True)
class AttemptFact:
    """An earlier step of the same job, as agents see it."""

    step: int
    stage: Stage
    candidate_id: str | None
    parent_id: str | None
    plan: PlanFact | None
    source: str | None
    report: EvaluationReport | None
    failure: str | None = None
    """Why the step produced no candidate, when it did not."""
    critique: str | None = None
    """The Judge's words about it."""
    confirms: str | None = None
    """The candidate whose kernel it measured a second time; None for a kernel of its own."""
    from_compiler: bool = False
    """Whether it is the compiler's own code, which no agent made."""


@dataclass(frozen=True, kw_only=True)
class SearchBrief:
    """What a strategy wants the Planner and the Coder to know beside the start point."""

    text: str = ""
    """Where the search stands, in the strategy's terms; rendered as data."""
    inspirations: tuple[AttemptFact, ...] = ()
    """Other accepted candidates to learn from, best first."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The data a prompt was rendered from. The playbook model works from it alone; chat models never see it."""

    job_id: str
    step: int
    stage: Stage
    seed: int
    problem: Problem
    """With `HELD_OUT` cut out of the source."""
    guidance: str = ""
    """The submitter's own words to the agents."""
    analysis: ProblemAnalysis
    backend: str
    device: DeviceSheet | None
    baselines: Baselines
    attempts: tuple[AttemptFact, ...]
    """All earlier steps, oldest first."""
    experiences: tuple[RecalledExperience, ...]
    start_point: AttemptFact | None
    """What the strategy chose to start from; None in draft without a start."""
    plan: PlanFact | None = None
    """For Coder and later: the plan of this step."""
    source: str | None = None
    """For Judge and Profiler: the candidate's source."""
    report: EvaluationReport | None = None
    """For Judge and Profiler: the candidate's evaluation."""
    metrics: tuple[str, ...] = ()
    """For the Judge: the counters that the Profiler selected; none for all."""
    findings: str = ""
    """For the Judge: what the Profiler concluded from which evidence."""
    agents: AgentsMode = AgentsMode.FULL
    """How many calls a round makes; in `lean` the Planner diagnoses too."""
    brief: SearchBrief = field(default_factory=SearchBrief)
    """What the strategy adds to the prompt."""
    branch: int = 0
    """Which of the round's candidates this is, from 0."""
    width: int = 1
    """How many candidates the round makes at the same time."""


@dataclass(frozen=True, kw_only=True)
class ModelLimits:
    """What fits into one call of a chat model."""

    window_tokens: int = 131_072
    """Prompt and answer together."""
    output_tokens: int = 8192
    """The answer at most, without what a provider counts for reasoning apart."""


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """One call of a chat model."""

    key: str
    """Idempotency key: `{job}/{step}/{role}/{attempt}`."""
    role: AgentRole
    messages: tuple[ChatMessage, ...]
    schema_name: str
    schema: dict[str, JsonValue]
    """JSON schema that the reply must fit."""
    facts: Facts
    max_output_tokens: int = 8192
    team_id: str = LOCAL_TEAM
    """Whose job asks: providers are shared fairly between teams."""


@dataclass(frozen=True, kw_only=True)
class ChatReply:
    """A model's answer: text that should hold one JSON document fitting the schema."""

    text: str
    model: str
    usage: Usage
    stop_reason: str = "stop"
    """`stop`, `length`, `refusal` or `error`."""


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """One call of a manual model as stored."""

    id: str
    key: str
    """The call's idempotency key: `{job}/{step}/{agent}/{attempt}`."""
    job_id: str
    team_id: str
    step: int
    role: AgentRole
    messages: tuple[ChatMessage, ...]
    """The rendered prompt."""
    schema_name: str
    schema: dict[str, JsonValue]
    """JSON schema that the answer must fit."""
    start_source: str | None
    """The candidate that edits apply to; None where the step starts from nothing."""
    created_at: datetime
    expires_at: datetime
    """From then on the job stops waiting."""
    reply: str | None = None
    """The answer; None while it is open."""
    answered_by: str | None = None
    answered_at: datetime | None = None


def request_id(request: ChatRequest) -> str:
    """The id of a call: the same on every resume, another one where the same call has another prompt."""
    prompt = content_hash(dumps(request.messages))
    return f"req-{content_hash(f'{request.key}/{request.schema_name}/{prompt}')[:20]}"
