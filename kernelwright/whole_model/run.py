"""Whole models: profiled, their parts solved as jobs under one budget, put together again and judged as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.local_job import Listener, Solver, SolveResult
from kernelwright.orchestrator_names import own_name
from kernelwright.settings import Settings
from kernelwright.whole_model.plan import ModelPlan, keep_plan, kept_plan, sole_worker
from kernelwright.wiring.installation import Installation
from kernelwright.wiring.workbench import make_workbench
from services.domain.assembly import assembled, kept_operators
from services.domain.errors import ConflictError, ProblemError
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.jobs import LOCAL_TEAM, WHOLE_MODEL, Job, JobSpec, JobStatus
from services.domain.measurements import Gain, Speedup, gain_within
from services.domain.models import ModelPart, ModelProfile, amdahl
from services.domain.problems import Problem
from services.domain.ratios import eager_bounds
from services.domain.tunables import with_values
from services.domain.validations import ProblemRefusal
from services.jobs.child_jobs import ChildJobService
from services.problems.lint import lint_problem

if TYPE_CHECKING:
    from kernelwright.wiring.workbench import LocalSandbox

WORTH = 1.005
"""A part that could not speed the model up by half a percent, were it as fast as the roofline, is left as it is."""
Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class PartOutcome:
    """What came of one part."""

    number: int
    name: str
    count: int
    share: float
    """Of the model's time."""
    ceiling: float
    """The model's speedup, were the part as fast as the roofline allows."""
    job_id: str | None
    """None where no job was made of it."""
    speedup: Speedup | None
    """Of its best accepted kernel."""
    eager_ci95: tuple[float, float] | None
    """95 % interval of that kernel's speedup over eager mode, in which the model's other operators run."""
    swapped: bool
    """Whether the kernel is in the assembled model."""
    reason: str | None
    """Why it is not."""


@dataclass(frozen=True, kw_only=True)
class ModelOutcome:
    """What came of a whole model. Field names are the document's JSON names."""

    job_id: str
    status: JobStatus
    message: str | None
    parts: tuple[PartOutcome, ...]
    predicted: float
    """The model's speedup over eager that the parts' shares and speedups promise (Amdahl's law)."""
    verdict: Verdict | None
    """Of the assembled model; None where nothing was swapped."""
    speedup: Speedup | None
    """Of the assembled model against the original, end to end."""
    eager_ci95: tuple[float, float] | None
    rounds: int
    """Of all jobs together."""
    source_path: str | None
    """The assembled model."""

    @property
    def gained(self) -> bool:
        """Whether there is an assembled model that is surely faster than the original."""
        return self.source_path is not None and self.status is not JobStatus.NO_GAIN


def profile_model(
    settings: Settings, problem: Problem, device: str, make: Callable[[str], LocalSandbox]
) -> ModelProfile:
    """Where a model's time goes on this machine. Raises `ProblemError`, `ConfigurationError`, `InfrastructureError`."""
    lint_problem(problem)
    workbench = make_workbench(settings.directory, device, make=make)
    try:
        found = workbench.profile("local-profile", problem)
    finally:
        workbench.close()
    if isinstance(found, ProblemRefusal):
        raise ProblemError(found.reason, remedy=found.remedy, path=problem.path, line=found.line)
    return found


class ModelRun:
    """Solves a model's parts one after another, then judges the model with their kernels in place.

    Killed at any point it goes on: parts whose jobs have ended are not solved again, and one in the middle is taken up
    there."""

    def __init__(self, solver: Solver, job_id: str, plan: ModelPlan) -> None:
        """`job_id` is that of the whole model's job, see `begin` and `taken_up`."""
        self._here = solver.here
        self._solver = solver
        self.job_id = job_id
        self.profile = plan.profile
        self._spec = plan.spec
        self._wish = plan.wish
        self._out = None if plan.out is None else Path(plan.out)
        self._child_jobs = _child_jobs(solver.here)

    @classmethod
    async def begin(cls, solver: Solver, plan: ModelPlan) -> ModelRun:
        """Store the whole model's job, and the plan beside its results. Raises `UserError`."""
        here = solver.here
        parent = await _child_jobs(here).open(LOCAL_TEAM, replace(plan.spec, tags=(*plan.spec.tags, WHOLE_MODEL)))
        keep_plan(here.settings.results(parent.id), plan)
        return cls(solver, parent.id, plan)

    async def finish(self, listener: Listener, tell: Tell) -> ModelOutcome:
        """Take it to its end. Raises what jobs raise, and `ConflictError` where another process works on it or it was
        cancelled; interrupted, it can be taken up."""
        with sole_worker(self._here.settings.results(self.job_id), self.job_id):
            parent = await self._here.service.get(LOCAL_TEAM, self.job_id)
            if parent.status is JobStatus.CANCELLED:
                raise ConflictError(f"job {parent.id} was cancelled: start again with kernelwright profile --run")
            outcomes, kernels = await self._parts(parent, listener, tell)
            judged = await self._whole(parent, kernels, listener, tell)
            return await self._outcome(parent.id, outcomes, judged)

    async def _parts(self, parent: Job, listener: Listener, tell: Tell) -> tuple[list[PartOutcome], dict[int, str]]:
        outcomes, kernels = [], {}
        known = {child.spec.problem.name: child for child in await self._here.service.children(LOCAL_TEAM, parent.id)}
        tried, most = 0, self._wish.parts
        for part in self.profile.parts:
            reason = _left_out(part, self._spec) or (f"only the best {most} were tried" if tried >= most else None)
            if reason is not None:
                outcomes.append(_outcome(part, None, reason=reason))
                continue
            child = known.get(part.name) or await self._child(parent, part, most - tried)
            if child is None:
                outcomes.append(_outcome(part, None, reason="the budget was used up"))
                continue
            tried += 1
            tell(f"\npart {part.number}: {part.name}, {part.share:.1%} of the time, job {child.id}{_stands(child)}")
            solved = await self._solved(child, None, listener)
            kernel, reason = await self._kernel(solved)
            if kernel is not None:
                kernels[part.number] = kernel
            outcomes.append(_outcome(part, solved, reason=reason))
        return outcomes, kernels

    async def _solved(self, job: Job, out: Path | None, listener: Listener) -> SolveResult:
        """A job's outcome; one that has ended is read, one that was interrupted goes on."""
        if job.status.is_final:
            return await self._solver.outcome(job.id, out)
        job, last = await self._solver.resumable(job.id)
        return await self._solver.finish(job.id, out=out, listener=listener, after=last)

    async def _child(self, parent: Job, part: ModelPart, turns: int) -> Job | None:
        """A new job for a part; None where the budget is used up, or the parent does not wait any more."""
        assert part.source is not None
        if not _waits(parent):
            return None
        problem = Problem(name=part.name, source=part.source, path=f"{part.name}.py")
        spec = replace(self._spec, problem=problem, tags=(*self._spec.tags, "part"))
        return await self._child_jobs.add(LOCAL_TEAM, parent.id, spec, turns)

    async def _kernel(self, solved: SolveResult) -> tuple[str | None, str | None]:
        """The kernel to swap in, or why there is none."""
        best = await self._here.service.best(LOCAL_TEAM, solved.job.id)
        if best is None or best.report is None:
            return None, solved.job.message or f"its job ended {solved.job.status}"
        bounds = eager_bounds(best.report)
        if not self._wish.swap_all and gain_within(bounds) is not Gain.SURELY:
            return None, "its kernel is not surely faster than eager"
        tuned = best.report.tuned
        source = best.candidate.source
        return (with_values(source, tuned.parameters) if tuned is not None else source), None

    async def _whole(self, parent: Job, kernels: dict[int, str], listener: Listener, tell: Tell) -> SolveResult | None:
        """Judge the model with the kernels in it; None where there are none."""
        if not _waits(parent):
            return await self._solved(parent, self._out, listener)
        if not kernels:
            await self._child_jobs.give_up(parent.id, own_name(), "no part got a kernel that is surely faster")
            return None
        names = ", ".join(self.profile.part(number).name for number in sorted(kernels))
        title = f"{self.profile.name}, assembled by Kernelwright: kernels for {names}; the rest as traced."
        source = assembled(self.profile.outline, kernels, title)
        operators = (*self._spec.problem.allow_library, *kept_operators(self.profile.outline, kernels))
        tell(f"\nthe whole model with {len(kernels)} kernel{'' if len(kernels) == 1 else 's'} in it")
        handed = await self._child_jobs.hand_in(LOCAL_TEAM, parent.id, source, tuple(dict.fromkeys(operators)))
        return await self._solved(handed, self._out, listener)

    async def _outcome(
        self, parent_id: str, outcomes: Sequence[PartOutcome], judged: SolveResult | None
    ) -> ModelOutcome:
        service = self._here.service
        job = await service.get(LOCAL_TEAM, parent_id)
        children = await service.children(LOCAL_TEAM, parent_id)
        report = await self._judged_report(parent_id)
        shown = [part if report is None or report.accepted else _taken_out(part) for part in outcomes]
        return ModelOutcome(
            job_id=job.id,
            status=job.status,
            message=job.message,
            parts=tuple(shown),
            predicted=amdahl(
                [
                    (part.share, part.speedup.eager)
                    for part in outcomes
                    if part.swapped and part.speedup and part.speedup.eager
                ]
            ),
            verdict=None if report is None else report.verdict,
            speedup=None if report is None or report.latency is None else report.speedup,
            eager_ci95=None if report is None else eager_bounds(report),
            rounds=job.steps_done + sum(child.steps_done for child in children),
            source_path=None if judged is None or judged.export.kernel is None else str(judged.export.kernel),
        )

    async def _judged_report(self, parent_id: str) -> EvaluationReport | None:
        found = await self._here.service.candidates(LOCAL_TEAM, parent_id)
        return found[0].report if found else None


async def taken_up(solver: Solver, job_id: str, out: str | None) -> ModelRun:
    """A run that was interrupted; `out` is another folder for its results. Raises `NotFoundError`, `ConflictError`."""
    await solver.here.service.get(LOCAL_TEAM, job_id)
    plan = kept_plan(solver.here.settings.results(job_id), job_id)
    return ModelRun(solver, job_id, plan if out is None else replace(plan, out=out))


def _child_jobs(here: Installation) -> ChildJobService:
    kept_s = here.settings.evaluation_timeout_s
    return ChildJobService(here.stores.jobs, here.service, here.clock, kept_device_s=kept_s)


def _waits(parent: Job) -> bool:
    """Whether the whole model's job still waits for its parts' kernels."""
    return parent.awaits_parts and parent.status is JobStatus.PAUSED


def _stands(child: Job) -> str:
    """What to say of a job that is not new."""
    if child.status.is_final:
        return f", {child.status} before"
    return f", after {child.steps_done} rounds" if child.steps_done else ""


def _left_out(part: ModelPart, spec: JobSpec) -> str | None:
    """Why no job is made of a part."""
    if part.source is None or part.analysis is None:
        return part.note
    if part.ceiling < WORTH:
        return f"at the roofline it would speed the model up {part.ceiling:.3f} times: not worth a job"
    if spec.model != "playbook":
        return None
    from agents.playbook.planner import no_template

    return no_template(spec.backend, part.analysis)


def _outcome(part: ModelPart, solved: SolveResult | None, *, reason: str | None) -> PartOutcome:
    report = solved.report if solved is not None else None
    return PartOutcome(
        number=part.number,
        name=part.name,
        count=part.count,
        share=part.share,
        ceiling=part.ceiling,
        job_id=None if solved is None else solved.job.id,
        speedup=None if report is None else report.speedup,
        eager_ci95=None if report is None else eager_bounds(report),
        swapped=reason is None,
        reason=reason,
    )


def _taken_out(part: PartOutcome) -> PartOutcome:
    if not part.swapped:
        return part
    return replace(part, swapped=False, reason="the model with the kernels was not accepted")
