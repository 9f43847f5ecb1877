"""Jobs: one request to solve a problem on a device within a budget, and the forms in which its results leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from services.domain.errors import ConflictError
from services.domain.problems import Problem, ProblemAnalysis

DEFAULT_STRATEGY = "greedy"
"""How a job searches that does not say how."""
LOCAL_TEAM = "local"
"""The team of every row in embedded mode."""
EVALUATE_ONLY = "evaluate-only"
"""Tag of a job that wants its seed candidate judged and nothing else: no agent is asked."""
WHOLE_MODEL = "model"
"""Tag of a job whose seed candidate is a model put together from its parts' kernels; theirs have `part`."""


class JobStatus(StrEnum):
    """Where a job is. The last six are final."""

    QUEUED = "queued"
    VALIDATING = "validating"
    RUNNING = "running"
    PAUSED = "paused"
    SOLVED = "solved"
    NO_GAIN = "no_gain"
    """There are correct kernels, and none is surely faster than the best baseline."""
    UNSOLVED = "unsolved"
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether the job has ended for good."""
        return self in FINAL_STATUSES


FINAL_STATUSES = frozenset(
    {
        JobStatus.SOLVED,
        JobStatus.NO_GAIN,
        JobStatus.UNSOLVED,
        JobStatus.REFUSED,
        JobStatus.FAILED,
        JobStatus.CANCELLED,
    }
)


class AgentsMode(StrEnum):
    """How many calls of a model a round makes."""

    LEAN = "lean"
    """Two: one diagnoses and plans, one writes code; a leader gets a second opinion besides."""
    FULL = "full"
    """Planner, Coder and Judge, and a Profiler where there are counters to choose from."""


class Stage(StrEnum):
    """*draft* until the first accepted candidate, *refine* after it."""

    DRAFT = "draft"
    REFINE = "refine"


MAX_GUIDANCE = 4000
"""Characters of a submitter's guidance: every prompt of the job carries it."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Stop rules; None means no limit. Each expense reserves its ceiling beforehand, so a job never passes one."""

    rounds: int = 10
    """Evaluated rounds (an infrastructure error is not charged)."""
    wall_s: float | None = None
    """Seconds of wall time since the job first ran, pauses included."""
    tokens: int | None = None
    """Input plus output tokens over all model calls."""
    dollars: float | None = None
    """Price of all model calls; calls with unknown price are refused when this is set."""
    device_s: float | None = None
    """Seconds of device time."""


@dataclass(frozen=True, kw_only=True)
class JobSpec:
    """What the user asked for."""

    problem: Problem
    backend: str = "cpp"
    device: str = "cpu"
    model: str = "playbook"
    strategy: str = DEFAULT_STRATEGY
    beam: int = 1
    """Candidates made and judged at the same time; each counts as one of the budget's rounds."""
    agents: AgentsMode = AgentsMode.FULL
    """How many calls of the model a round makes."""
    verify_first: bool = False
    """Whether the Judge's second opinion comes before a candidate is run, so that what it holds for a cheat costs no
    device time; by default after, and about leaders only."""
    budget: Budget = field(default_factory=Budget)
    baselines: tuple[str, ...] = ("eager", "compile")
    seed: int = 0
    """Seed of every random choice of the workflow."""
    seed_candidate: str | None = None
    """Source of an existing kernel to start from."""
    guidance: str = ""
    """What the submitter tells the agents about this problem; they trust it, unlike all other material."""
    compiler_draft: bool = False
    """Whether the compiler's own code is judged as the first candidate, before any model is asked."""
    tags: tuple[str, ...] = ()
    priority: int = 0
    """-100 to 100: the higher one of a team's own waiting jobs goes first. Teams share by turns, whatever they write
    here."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job as stored."""

    id: str
    team_id: str
    spec: JobSpec
    status: JobStatus
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    analysis: ProblemAnalysis | None = None
    """Set when validation succeeded."""
    best_candidate_id: str | None = None
    """The accepted candidate with the lowest latency."""
    steps_done: int = 0
    """Number of recorded steps."""
    message: str | None = None
    """One line for people: why it was refused, failed, cancelled or ended unsolved."""
    cancel_requested: bool = False
    pause_requested: bool = False
    parent_id: str | None = None
    """The job that this one works for, and whose budget it shares."""

    @property
    def awaits_parts(self) -> bool:
        """Whether it wants a kernel judged that its children have yet to make."""
        return EVALUATE_ONLY in self.spec.tags and self.spec.seed_candidate is None


@dataclass(frozen=True, kw_only=True)
class ControlFlags:
    """What people want of a running job, and under which lease it runs."""

    token: int
    """Of the lease that is in force."""
    cancel_requested: bool
    pause_requested: bool
    started_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class JobFilter:
    """Which jobs a list shows; what is left empty is open."""

    statuses: frozenset[JobStatus] = frozenset()
    """Any of these."""
    text: str = ""
    """Words that all occur in the job's id, names or tags, whatever their case."""
    tags: tuple[str, ...] = ()
    """All of these."""

    def admits(self, job: Job) -> bool:
        """Whether a list shows the job."""
        return (
            (not self.statuses or job.status in self.statuses)
            and all(word in searched_text(job) for word in self.words)
            and set(self.tags) <= set(job.spec.tags)
        )

    @property
    def words(self) -> tuple[str, ...]:
        """What must occur in a job's `searched_text`."""
        return tuple(self.text.casefold().split())


UNTAGGED_LINES = 6
"""Lines of `searched_text` that stand before the tags, at least: a name may have several."""


def searched_text(job: Job) -> str:
    """What the words of a list's filter are looked for in, case folded: a line each, the tags last."""
    spec = job.spec
    named = (job.id, spec.problem.name, spec.backend, spec.device, spec.model, spec.strategy)
    return "\n".join((*named, *spec.tags)).casefold()


@dataclass(frozen=True, kw_only=True)
class JobPage:
    """One page of a list."""

    jobs: tuple[Job, ...]
    next_cursor: str | None
    """Pass it to get the following page; None on the last one."""


@dataclass(frozen=True, kw_only=True)
class Lease:
    """The right to write to a job. Every write carries it; a stale token is refused with `LeaseLostError`."""

    job_id: str
    team_id: str
    owner: str
    """Name of the orchestrator that holds it."""
    token: int
    """Fencing token: grows by one with each new holder."""
    expires_at: datetime


def check_reopens(job_id: str, status: JobStatus) -> None:
    """Raise `ConflictError` unless a job of this status can go on with another model."""
    if status is JobStatus.FAILED or status is JobStatus.PAUSED:
        return
    advice = "it has its result" if status.is_final else "pause it first"
    raise ConflictError(f"job {job_id} is {status}: only a failed or paused job goes on with another model; {advice}")


def check_awaits(job: Job) -> None:
    """Raise `ConflictError` unless a job is paused and waits for a kernel that its children make."""
    if not (job.awaits_parts and job.status is JobStatus.PAUSED):
        raise ConflictError(f"job {job.id} is {job.status} and waits for no kernel")


class ExportFormat(StrEnum):
    """What an archive with a finished kernel is for."""

    BUNDLE = "bundle"
    """The kernel with tests that run alone, and all evidence."""
    PACKAGE = "package"
    """A pip-installable source package."""
    KERNEL_BUILDER = "kernel-builder"
    """A Hugging Face kernel-builder source tree."""
    GPU_MODE = "gpu-mode"
    """One file for a GPU MODE leaderboard."""


class TrainingFormat(StrEnum):
    """What the lines of training data are for."""

    SFT = "sft"
    """Supervised fine-tuning: one conversation a solved job, along the best kernel's lineage."""
    RL = "rl"
    """Reinforcement learning: every turn of a job with its reward."""
    PREFERENCES = "preferences"
    """Pairs of answers from one start point, the better one chosen."""
