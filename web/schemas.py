"""What the REST API takes and gives. Reports are the domain's own types: one document everywhere."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from services.domain.access import Role, TokenScope
from services.domain.candidates import EvaluatedCandidate, Origin
from services.domain.digests import digest_candidate
from services.domain.evaluations import (
    DeviceSheet,
    EvaluationReport,
    GateName,
    Speedup,
    Verdict,
    default_baselines,
)
from services.domain.events import EventKind
from services.domain.jobs import DEFAULT_STRATEGY, AgentsMode, Budget, Job, JobSpec, JobStatus
from services.domain.nodes import NodeRole, NodeState
from services.domain.problems import Problem, ProblemAnalysis

Name = Annotated[str, Field(min_length=1, max_length=200)]
Source = Annotated[str, Field(min_length=1, max_length=1 << 20)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Body(BaseModel):
    """Base of request bodies: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class View(BaseModel):
    """Base of answers. `model_validate` takes a domain value whose attributes have the fields' names."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


class ProblemBody(Body):
    """A problem as submitted."""

    source: Source
    """The whole module in KernelBench form."""
    name: Name = "problem"
    path: Annotated[str, Field(min_length=1, max_length=1000)] = "problem.py"
    """What messages call the file."""
    allow_library: tuple[Name, ...] = ()

    def problem(self) -> Problem:
        """The domain's problem."""
        return Problem(name=self.name, source=self.source, path=self.path, allow_library=self.allow_library)


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
    compiler_draft: bool | None = None
    """Whether torch.compile's own code is judged first and started from; null for the server's setting."""
    priority: Annotated[int, Field(ge=-100, le=100)] = 0
    """The higher one of a team's own waiting jobs goes first."""

    def spec(self, *, compiler_draft: bool = False) -> JobSpec:
        """The domain's job specification; `compiler_draft` is the server's setting."""
        return JobSpec(
            problem=self.problem.problem(),
            backend=self.backend,
            device=self.device,
            model=self.model,
            strategy=self.strategy,
            beam=self.beam,
            agents=self.agents,
            verify_first=self.verify_first,
            budget=self.budget.budget(),
            baselines=default_baselines(self.device) if self.baselines is None else self.baselines,
            seed=self.seed,
            seed_candidate=self.seed_candidate,
            compiler_draft=compiler_draft if self.compiler_draft is None else self.compiler_draft,
            tags=self.tags,
            priority=self.priority,
        )


class ResumeBody(Body):
    """How a job goes on; null leaves it as it was."""

    model: Name | None = None
    rounds: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Of the whole job; null adds those that gave no candidate."""


class EvaluationBody(TargetBody):
    """A candidate to judge, without any search."""

    candidate: Source
    """A module defining `ModelNew`."""

    def spec(self) -> JobSpec:
        """The specification of the job that judges it."""
        return JobSpec(
            problem=self.problem.problem(),
            backend=self.backend,
            device=self.device,
            baselines=default_baselines(self.device) if self.baselines is None else self.baselines,
            tags=self.tags,
        )


class ProblemDocument(View):
    """An error (RFC 9457)."""

    type: str = "about:blank"
    """What kind of error: an address on this server that says what it means and what to do, `/errors/…`."""
    title: str
    status: int
    detail: str


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
        return cls(
            family=analysis.family,
            operators=operators,
            bytes_moved=analysis.bytes_moved,
            flops=analysis.flops,
            floor_us=analysis.floor_us,
        )


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
    """95 % confidence interval of `best_speedup`: above 1 as a whole where the kernel is surely faster."""
    cancel_requested: bool
    pause_requested: bool
    analysis: AnalysisView | None

    @classmethod
    def of(cls, job: Job, speedup: Speedup | None) -> JobView:
        """The answer about a job."""
        spec = job.spec
        return cls(
            id=job.id,
            parent_id=job.parent_id,
            status=job.status,
            message=job.message,
            problem=spec.problem.name,
            backend=spec.backend,
            device=spec.device,
            model=spec.model,
            strategy=spec.strategy,
            beam=spec.beam,
            agents=spec.agents,
            verify_first=spec.verify_first,
            budget=spec.budget,
            baselines=spec.baselines,
            seed=spec.seed,
            tags=spec.tags,
            created_at=job.created_at,
            updated_at=job.updated_at,
            started_at=job.started_at,
            finished_at=job.finished_at,
            steps_done=job.steps_done,
            best_candidate_id=job.best_candidate_id,
            best_speedup=None if speedup is None else speedup.best_baseline,
            best_ci95=None if speedup is None else speedup.ci95,
            cancel_requested=job.cancel_requested,
            pause_requested=job.pause_requested,
            analysis=None if job.analysis is None else AnalysisView.of(job.analysis),
        )


class JobPageView(View):
    """One page of jobs, newest first."""

    jobs: tuple[JobView, ...]
    next_cursor: str | None


class CandidateSummary(View):
    """A candidate in a listing."""

    id: str
    job_id: str
    step: int
    parent_id: str | None
    origin: Origin
    backend: str
    summary: str
    created_at: datetime
    verdict: Verdict | None
    failed_gate: GateName | None
    median_us: float | None
    ci95_us: tuple[float, float] | None
    speedup: Speedup | None
    baselines_us: dict[str, float] | None
    """Medians of the baselines it was compared with."""
    roofline_fraction: float | None
    bottleneck: str | None
    tuned: int | None
    """Settings of its `TUNABLES` that were tried."""
    device_s: float


class CandidateView(CandidateSummary):
    """A candidate with its source and report."""

    source: str
    report: EvaluationReport | None

    @classmethod
    def of_entry(cls, entry: EvaluatedCandidate) -> CandidateView:
        """The answer about a candidate."""
        summary = CandidateSummary.model_validate(digest_candidate(entry))
        return cls(**dict(summary), source=entry.candidate.source, report=entry.report)


class EventView(View):
    """One entry of a job's log."""

    job_id: str
    seq: int
    kind: EventKind
    data: dict[str, Any]
    at: datetime


class EvaluationView(View):
    """An evaluation without search: its report is there once its job has ended."""

    id: str
    """Also the id of the job that runs it."""
    status: JobStatus
    message: str | None
    report: EvaluationReport | None


class LintView(View):
    """A problem that reading finds nothing wrong with."""

    ok: bool
    public_source: str
    """The text that agents see: `HELD_OUT` cut out."""


class ExampleView(View):
    """An example problem."""

    name: str
    source: str


class NodeView(View):
    """A process of the installation."""

    name: str
    role: NodeRole
    version: str
    state: NodeState
    device: str | None
    toolchain: str | None
    units: int
    """Workers: cores or multiprocessors that a kernel may use."""
    memory_bytes: int
    """Workers: ceiling of one sandboxed process."""
    load: float
    """Load average of its host over one minute, a CPU."""
    busy_s: float
    """Seconds spent on evaluations since it started; 0 where nobody counts them."""
    done: int
    """Evaluations and validations ended since it started; 0 where nobody counts them."""
    started_at: datetime
    seen_at: datetime


class WorkerView(View):
    """A worker that takes evaluations."""

    name: str
    device: str
    backends: tuple[str, ...]
    isolation: str | None
    sheet: DeviceSheet | None
    """What it measured about its device; null until it has."""
    node: NodeView | None
    """Its process: health, load, ceilings, version."""


class MeView(View):
    """Who is calling and what may be asked for."""

    team: str
    user: str | None
    """Login of the person; null for a token of the team and for the one user of a machine."""
    role: Role
    scopes: tuple[TokenScope, ...]
    """What the caller may do: what both the role and the token permit."""
    teams: tuple[str, ...]
    """Teams that the person may turn to."""
    by: Literal["token", "session", "local"]
    """How the caller is known; `local`: as the one user of this machine, or by the server's own token."""
    version: str
    backends: tuple[str, ...]
    devices: tuple[str, ...]
    models: tuple[str, ...]
    strategies: tuple[str, ...]


class HealthView(View):
    """The state of the server."""

    status: str
