"""Jobs: what is submitted, how one goes on, and what is answered about them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, computed_field

from services.domain.digests import BestSpeedup
from services.domain.events import EventKind
from services.domain.jobs import DEFAULT_STRATEGY, MAX_GUIDANCE, AgentsMode, Budget, Job, JobSpec, JobStatus
from services.domain.measurements import Gain, default_baselines
from services.domain.problems import ProblemAnalysis
from web.schemas.base import Body, Name, Page, Positive, Source, View, formerly
from web.schemas.problems import ProblemBody


class BudgetBody(Body):
    """Stop rules; null means no limit."""

    rounds: Annotated[int, Field(ge=1, le=1000)] = 10
    wall_s: Positive | None = None
    tokens: Annotated[int, Field(gt=0)] | None = None
    dollars: Positive | None = None
    device_s: Positive | None = None

    def budget(self) -> Budget:
        """The domain's budget."""
        return Budget(**self.model_dump())


class TargetBody(Body):
    """Where a problem is solved or a candidate judged."""

    problem: ProblemBody
    backend: Name = "cpp"
    device: Name = "cpu"
    baselines: Annotated[tuple[Name, ...], Field(max_length=8)] | None = None
    """Null for the device's: `eager` and `compile`, on GPUs `compile_max` too."""
    tags: Annotated[tuple[Name, ...], Field(max_length=32)] = ()


class JobBody(TargetBody):
    """A new job."""

    model: Name = "playbook"
    strategy: Name = DEFAULT_STRATEGY
    beam: Annotated[int, Field(ge=1, le=16)] = 1
    """Candidates made at the same time; each counts as one round."""
    agents: AgentsMode = AgentsMode.FULL
    """`lean`: two model calls a round, one that diagnoses and plans and one that writes; `full`: three or four."""
    verify_first: bool = False
    """Whether the Judge's second opinion comes before a candidate is run."""
    budget: BudgetBody = BudgetBody()
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0
    seed_candidate: Source | None = None
    guidance: Annotated[str, Field(max_length=MAX_GUIDANCE)] = ""
    """What the agents should know or do about this problem, in your words; they trust it."""
    compiler_draft: bool | None = None
    """Whether torch.compile's own code is judged first and started from; null for the server's setting."""
    priority: Annotated[int, Field(ge=-100, le=100)] = 0
    """The higher one of a team's own waiting jobs goes first."""

    def spec(self, *, compiler_draft: bool = False) -> JobSpec:
        """The domain's job specification; `compiler_draft` is the server's setting."""
        given = dict(self) | {
            "problem": self.problem.problem(),
            "budget": self.budget.budget(),
            "baselines": default_baselines(self.device) if self.baselines is None else self.baselines,
            "compiler_draft": compiler_draft if self.compiler_draft is None else self.compiler_draft,
        }
        return JobSpec(**given)


class ResumeBody(Body):
    """How a job goes on; null leaves it as it was."""

    model: Name | None = None
    rounds: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Of the whole job; null adds those that gave no candidate."""


class AnalysisView(View):
    """What validation found out."""

    family: str
    operators: tuple[str, ...]
    bytes_moved: int
    flops: int
    floor_us: float

    @classmethod
    def of(cls, analysis: ProblemAnalysis) -> AnalysisView:
        """The short form of an analysis."""
        operators = tuple(operator.target for operator in analysis.operators)
        return cls.from_parts(analysis, operators=operators)


class JobView(View):
    """A job."""

    id: str
    parent_id: str | None
    """The job that this one works for, and whose budget it shares."""
    status: JobStatus
    message: str | None
    problem: str
    backend: str
    device: str
    model: str
    strategy: str
    beam: int
    agents: AgentsMode
    verify_first: bool
    guidance: str
    budget: Budget
    baselines: tuple[str, ...]
    seed: int
    tags: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    steps_done: int
    best_candidate_id: str | None
    best_speedup: float | None
    """Of the best candidate, against the fastest baseline."""
    best_ci95: tuple[float, float] | None
    """95 % confidence interval of `best_speedup`."""
    best_gain: Gain | None
    """Whether the best candidate is faster than the fastest baseline: `surely` where all of `best_ci95` is above 1."""
    cancel_requested: bool
    pause_requested: bool
    analysis: AnalysisView | None

    @classmethod
    def of(cls, job: Job, speedup: BestSpeedup | None) -> JobView:
        """The answer about a job."""
        return cls.from_parts(
            job,
            job.spec,
            problem=job.spec.problem.name,
            best_speedup=None if speedup is None else speedup.ratio,
            best_ci95=None if speedup is None else speedup.ci95,
            best_gain=None if speedup is None else speedup.gain,
            analysis=None if job.analysis is None else AnalysisView.of(job.analysis),
        )


class JobPageView(Page[JobView]):
    """One page of jobs, newest first."""

    @computed_field(**formerly("the same as `items`"))  # type: ignore[prop-decorator]
    @property
    def jobs(self) -> tuple[JobView, ...]:
        """The field's old name."""
        return self.items


class EventView(View):
    """One entry of a job's log."""

    job_id: str
    seq: int
    kind: EventKind
    data: dict[str, Any]
    at: datetime
