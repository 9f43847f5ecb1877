"""What a running job knows beside its checkpointed state: rebuilt from the stores whenever the job is resumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from agents.roles.second_opinion import doubted
from agents.workflow.budget import Spent
from agents.workflow.leaderboard import leader
from agents.workflow.nearest_example import is_own_kernel
from agents.workflow.origin import course_of
from agents.workflow.state import WorkflowState
from agents.workflow.step_cache import StepCache
from services.domain import codec
from services.domain.candidates import EvaluatedCandidate, Origin, content_hash, evaluation_id
from services.domain.chat import AttemptFact, ChatMessage, PlanFact
from services.domain.evaluations import EvaluationReport
from services.domain.events import EventKind, JsonValue
from services.domain.experiences import ExperienceKind, RecalledExperience, StartValues, experience_id
from services.domain.jobs import AgentsMode, Budget, Job, Lease
from services.domain.measurements import Baselines
from services.domain.problems import Problem, ProblemAnalysis
from services.domain.ratios import paced_us
from services.domain.steps import ModelCall, Step
from services.domain.validations import ValidationReport
from services.memory.keys import dtype, shape_class
from services.ports.jobs import ArtefactStore, CandidateStore, EventLog, JobStore
from services.ports.memory import Memory
from services.ports.models import ChatModel, MeteredChatModel
from services.ports.runtime import Clock
from services.ports.search import SearchState, Strategy
from services.team_memory.reward import Setting

_OF_CANDIDATES = (ExperienceKind.TRACE, ExperienceKind.FAILURE)


@dataclass(frozen=True, kw_only=True)
class Stores:
    """Where a workflow reads and writes."""

    jobs: JobStore
    candidates: CandidateStore
    events: EventLog
    memory: Memory
    artefacts: ArtefactStore


class LeaseHolder:
    """A job's lease while it is worked on, in its latest renewal."""

    def __init__(self, lease: Lease, jobs: JobStore, clock: Clock, ttl_s: float) -> None:
        self.current = lease
        self._jobs = jobs
        self._clock = clock
        self._ttl_s = ttl_s

    async def renew(self) -> None:
        """Extend the lease. Raises `LeaseLostError`."""
        self.current = await self._jobs.renew(self.current, self._ttl_s)

    def left(self) -> float:
        """The share of its time that is left; below zero when it has run out."""
        return (self.current.expires_at - self._clock.now()).total_seconds() / self._ttl_s

    async def ensure(self) -> None:
        """Before a write that the store does not fence: a lease that has run out by our own clock (this process was
        asleep) may be somebody else's by now. Raises `LeaseLostError`."""
        if self._clock.now() >= self.current.expires_at:
            await self.renew()


@dataclass(kw_only=True)
class JobContext:
    """One run of one job."""

    job: Job
    lease: LeaseHolder
    stores: Stores
    model: ChatModel
    strategy: Strategy
    public_problem: Problem
    """The problem as agents may see it."""
    validation: ValidationReport
    attempts: list[AttemptFact] = field(default_factory=list)
    """Recorded steps, oldest first; the list's index is the step's."""
    recorded: Spent = field(default_factory=Spent)
    """What the recorded steps have used."""
    dearest: Spent = field(default_factory=Spent)
    """What the recorded step used that took most tokens."""
    caches: dict[int, StepCache] = field(default_factory=dict)
    """What the steps of the current round have at hand, by index."""
    system_prompts: dict[str, ChatMessage] = field(default_factory=dict)
    """The stable part of each prompt, by the name of the schema it asks for."""
    notice: str | None = None
    """What the job was last told works less well than it should."""
    in_vain: int = 0
    """Steps in a row, of this run, that gave no candidate."""
    announced: set[tuple[str, int, str]] = field(default_factory=set)
    """Events of an earlier run of the interrupted step: (kind, step, detail)."""

    @property
    def analysis(self) -> ProblemAnalysis:
        """The problem's analysis; validation came first."""
        if self.job.analysis is None:
            raise ValueError(f"job {self.job.id} has not been validated")
        return self.job.analysis

    @property
    def setting(self) -> Setting:
        """Where this job's experiences are made and its values are learned."""
        device = self.validation.device
        return Setting(
            family=self.analysis.family,
            device=self.job.spec.device,
            toolchain=device.toolchain if device is not None else "unknown",
            dtype=dtype(self.analysis),
            shape_class=shape_class(self.analysis),
        )

    def count_vain(self, step: Step) -> None:
        """Count this run's steps in a row without a candidate: an earlier run may have asked another model."""
        self.in_vain = self.in_vain + 1 if step.candidate_id is None else 0

    async def load(self) -> None:
        """Read the recorded steps, and what the log says of the step that was interrupted."""
        team_id, job_id = self.job.team_id, self.job.id
        steps = await self.stores.jobs.steps(team_id, job_id)
        known = {item.candidate.id: item for item in await self.stores.candidates.list(team_id, job_id)}
        for step in steps:
            self.record(step, known.get(step.candidate_id or ""))
        for index, kept in (await self.stores.jobs.kept_calls(team_id, job_id)).items():
            self.caches[index] = StepCache(kept=list(kept))
        after = 0
        while page := await self.stores.events.read(job_id, after):
            self.announced.update(_mark(event.kind, event.data) for event in page)
            after = page[-1].seq

    def record(
        self, step: Step, candidate: EvaluatedCandidate | None, revised: Mapping[str, EvaluationReport] | None = None
    ) -> None:
        """Take a recorded step into account, with reports that it revised, by evaluation; a step that is known already
        changes nothing."""
        if step.index != len(self.attempts):
            return
        self.attempts.append(attempt_of(step, candidate))
        for number, item in enumerate(self.attempts):
            report = (revised or {}).get(evaluation_id(item.candidate_id or ""))
            if report is not None:
                self.attempts[number] = replace(item, report=report)
        report = candidate.report if candidate is not None else None
        if step.usage.tokens > self.dearest.usage.tokens:
            self.dearest = Spent(usage=step.usage)
        self.recorded = Spent(
            usage=self.recorded.usage + step.usage,
            device_s=self.recorded.device_s + (report.phases_s.total if report is not None else 0.0),
        )

    def cache(self, state: WorkflowState) -> StepCache:
        """The current step's."""
        return self.caches.setdefault(state["step"], StepCache())

    def spent(self, state: WorkflowState) -> Spent:
        """What counts against the step's budget: everything so far, or a branch's own expenses against its share."""
        own = self.cache(state).spent
        if state.get("share") is not None:
            return own
        return Spent(usage=self.recorded.usage + own.usage, device_s=self.recorded.device_s + own.device_s)

    def budget(self, state: WorkflowState) -> Budget:
        """What the step may spend: the job's budget, or a branch's share of what was left when its round began."""
        whole, share = self.job.spec.budget, state.get("share")
        if share is None:
            return whole
        tokens = share["tokens"]
        return replace(
            whole,
            tokens=None if tokens is None else int(tokens),
            dollars=share["dollars"],
            device_s=share["device_s"],
        )

    async def emit(self, kind: EventKind, data: Mapping[str, JsonValue]) -> None:
        """Append an event, unless an earlier run of the interrupted step did so."""
        mark = _mark(kind, data)
        if mark in self.announced:
            self.announced.discard(mark)
            return
        await self.lease.ensure()
        await self.stores.events.append(self.job.id, kind, data)

    async def calls(self, state: WorkflowState) -> tuple[ModelCall, ...]:
        """The current step's model calls, from the store where this run did not make them."""
        known = self.cache(state).calls
        for key in state["calls"]:
            if key not in known:
                text = await self.stores.artefacts.get(self.job.team_id, key)
                known[key] = codec.loads(ModelCall, text)
        return tuple(known[key] for key in state["calls"])

    async def add_call(self, state: WorkflowState, call: ModelCall) -> str:
        """Keep a model call; its key."""
        key = await self.stores.artefacts.put(self.job.team_id, codec.dumps(call).encode(), job_id=self.job.id)
        self.cache(state).calls[key] = call
        return key

    async def keep_call(self, step: int, call: ModelCall) -> None:
        """Keep what a call without an answer has used, at once: its step may go on in another process."""
        self.caches.setdefault(step, StepCache()).kept.append(call)
        await self.stores.jobs.keep_call(self.lease.current, step, call)

    async def keep_calls(self) -> None:
        """Keep the answered calls of steps that are not recorded: the job ends within them, and they cost something."""
        for index, cache in self.caches.items():
            known = {content_hash(codec.dumps(call)) for call in cache.kept}
            for key, call in cache.calls.items():
                if index >= len(self.attempts) and key not in known and call.usage.tokens:
                    await self.keep_call(index, call)

    async def keep_plan(self, state: WorkflowState, plan: PlanFact) -> str:
        """Keep the step's plan; its key."""
        key = await self.stores.artefacts.put(self.job.team_id, codec.dumps(plan).encode(), job_id=self.job.id)
        self.cache(state).plan = (key, plan)
        return key

    async def plan(self, state: WorkflowState) -> PlanFact | None:
        """The current step's plan."""
        key, cache = state.get("plan"), self.cache(state)
        if key is None:
            return None
        if cache.plan is None or cache.plan[0] != key:
            text = await self.stores.artefacts.get(self.job.team_id, key)
            cache.plan = (key, codec.loads(PlanFact, text))
        return cache.plan[1]

    async def current_candidate(self, state: WorkflowState) -> EvaluatedCandidate | None:
        """The current step's candidate with its report, where there is one; the Judge's doubt counts."""
        wanted, cache = state.get("candidate_id"), self.cache(state)
        if wanted is None:
            return None
        if cache.candidate is None or cache.candidate.candidate.id != wanted:
            cache.candidate = await self.stores.candidates.get(self.job.team_id, wanted)
        doubt, report = state.get("doubt"), cache.candidate.report
        if doubt is not None and report is not None:
            return replace(cache.candidate, report=doubted(report, doubt))
        return cache.candidate

    async def experiences(self, state: WorkflowState) -> tuple[RecalledExperience, ...]:
        """The current step's experiences."""
        cache = self.cache(state)
        if cache.recalled is None:
            memory, team_id = self.stores.memory, self.job.team_id
            cache.recalled = tuple(
                [
                    RecalledExperience(experience=await memory.get(team_id, item), similarity=similarity, value=value)
                    for item, similarity, value in state["recalled"]
                ]
            )
        return cache.recalled

    @property
    def lean(self) -> bool:
        """Whether one call diagnoses and plans."""
        return self.job.spec.agents is AgentsMode.LEAN

    def inspects(self, state: WorkflowState) -> bool:
        """Whether the Judge is asked for a second opinion: where the model can have one (offline models answer from
        rules and would only repeat the referee)."""
        return course_of(state).inspected and isinstance(self.model, MeteredChatModel)

    def own_experiences(self) -> tuple[str, ...]:
        """What memory may hold of this job's own steps: its prompts tell of them anyway."""
        made = [item.candidate_id for item in self.attempts if item.candidate_id is not None]
        return tuple(experience_id(name, kind) for name in made for kind in _OF_CANDIDATES)

    def adopts(self, state: WorkflowState, proven: RecalledExperience) -> bool:
        """Whether the step measures a kernel that another job proved for this very problem, before any is written: as a
        start point that costs no call. The offline model starts from what it remembers by itself."""
        if not isinstance(self.model, MeteredChatModel) or self.job.spec.seed_candidate is not None:
            return False
        if state["branch"] or not proven.experience.code or any(item.plan is not None for item in self.attempts):
            return False
        tried = {item.source for item in self.attempts}
        own = is_own_kernel(proven, self.setting, self.job.spec.backend, self.analysis.subject)
        return own and (proven.experience.speedup or 0.0) > 1.0 and proven.experience.code not in tried

    def leads(self, state: WorkflowState, report: EvaluationReport) -> bool:
        """Whether the step's candidate is faster than all before it: only then does an opinion about it decide."""
        best, own = self.best(state["known"]), paced_us(report)
        before = paced_us(best.report) if best is not None else None
        return own is not None and (before is None or own < before)

    def judged_before(self, state: WorkflowState, source: str) -> AttemptFact | None:
        """The earlier attempt with this very source; None for a new one, and where a measurement is the step's aim."""
        if not course_of(state).written:
            return None
        known = self.attempts[: state["known"]]
        return next((item for item in known if item.source == source and item.report is not None), None)

    def forget_round(self) -> None:
        """Drop what belonged to the round before."""
        self.caches.clear()

    def best(self, before: int | None = None) -> AttemptFact | None:
        """The leading attempt of the steps before an index (all by default), see `agents.workflow.leaderboard`."""
        return leader(self.attempts[:before])

    def baselines(self, before: int | None = None) -> Baselines:
        """The latest known latencies of the reference."""
        known = self.validation.baselines
        for item in self.attempts[:before]:
            if item.report is not None:
                found = item.report.baselines
                known = Baselines(
                    eager=found.eager or known.eager,
                    compile=found.compile or known.compile,
                    compile_max=found.compile_max or known.compile_max,
                )
        return known

    def start_point(self, state: WorkflowState) -> AttemptFact | None:
        """The attempt that the current step starts from."""
        index = state.get("start_step")
        return None if index is None else self.attempts[index]

    def search(self, known: int | None = None, start_values: StartValues | None = None) -> SearchState:
        """What a strategy decides from, when so many steps were recorded (all by default)."""
        best = self.best(known)
        return SearchState(
            attempts=tuple(self.attempts[:known]),
            best_candidate_id=best.candidate_id if best is not None else None,
            baselines=self.baselines(known),
            floor_us=self.analysis.floor_us,
            seed=self.job.spec.seed,
            start_values=start_values,
        )


def started_at(state: WorkflowState) -> datetime:
    """When the current step began."""
    return datetime.fromisoformat(state["started_at"])


def _mark(kind: EventKind, data: Mapping[str, JsonValue]) -> tuple[str, int, str]:
    step = data.get("step")
    return (kind.value, step if isinstance(step, int) else -1, str(data.get("agent", "")))


def attempt_of(step: Step, candidate: EvaluatedCandidate | None) -> AttemptFact:
    """A recorded step as agents see it."""
    report = candidate.report if candidate is not None else None
    origin = candidate.candidate.origin if candidate is not None else None
    return AttemptFact(
        step=step.index,
        stage=step.stage,
        candidate_id=step.candidate_id,
        parent_id=candidate.candidate.parent_id if candidate is not None else step.start_point,
        plan=step.plan,
        source=candidate.candidate.source if candidate is not None else None,
        report=report,
        failure=step.failure,
        critique=step.critique,
        confirms=candidate.candidate.parent_id if candidate is not None and origin is Origin.CONFIRMATION else None,
        from_compiler=origin is Origin.COMPILER,
    )
