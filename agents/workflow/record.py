"""What a step leaves behind: its candidate, and the record that is written in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from agents.roles.coder import Draft
from agents.workflow.compiler_draft import draft_of
from agents.workflow.context import JobContext, attempt_of, started_at
from agents.workflow.leaderboard import leader
from agents.workflow.origin import course_of, origin_of
from agents.workflow.seed_kernel import SUMMARY, adopted_draft
from agents.workflow.state import WorkflowState
from services.domain.candidates import Candidate, EvaluatedCandidate, Origin, candidate_id, evaluation_id
from services.domain.chat import AttemptFact
from services.domain.evaluations import EvaluationReport
from services.domain.events import EventKind, JsonValue
from services.domain.experiences import Experience, ExperienceUse
from services.domain.jobs import Stage
from services.domain.ratios import contradicts, widened
from services.domain.steps import Lesson, ModelCall, NewEvent, Step, StepRecord
from services.team_memory.reward import experiences_of, lesson_of, reward


async def ready_draft(state: WorkflowState, context: JobContext) -> Draft | None:
    """The step's kernel where it comes ready."""
    match origin_of(state):
        case Origin.SEED:
            return Draft(source=context.job.spec.seed_candidate or "", summary=SUMMARY)
        case Origin.COMPILER:
            return draft_of(context.validation)
        case Origin.RECALLED:
            return adopted_draft((await context.experiences(state))[0].experience)
        case Origin.CONFIRMATION:
            first = context.start_point(state)
            assert first is not None
            summary = f"the kernel of round {first.step + 1}, measured again"  # as pages and the command line count
            return Draft(source=first.source or "", summary=summary)
    return None


def candidate_of(state: WorkflowState, context: JobContext, draft: Draft, at: datetime) -> Candidate:
    """The candidate that a step made, under the id it has on every resume."""
    start = context.start_point(state)
    return Candidate(
        id=candidate_id(context.job.id, state["step"]),
        job_id=context.job.id,
        team_id=context.job.team_id,
        step=state["step"],
        parent_id=start.candidate_id if start is not None else None,
        origin=_origin(state, start),
        backend=context.job.spec.backend,
        source=draft.source,
        summary=draft.summary,
        created_at=at,
    )


async def step_record(state: WorkflowState, context: JobContext, at: datetime) -> StepRecord:
    """The finished step with its experiences, the new best, and the event that tells of it."""
    current = await context.current_candidate(state)
    learned = course_of(state).learned and state.get("repeats") is None  # memory learned from the first already
    report = current.report if current is not None else None
    step = await _step(state, context, report, at)
    best_id, best_speedup = _best(context, step, current)
    revised = _revised(state, context, current)
    return StepRecord(
        step=step,
        experiences=_experiences(context, state, step, current) if learned else (),
        uses=tuple(
            ExperienceUse(experience_id=item, similarity=similarity, value=value)
            for item, similarity, value in state["recalled"]
        ),
        best_candidate_id=best_id,
        revised=revised,
        lesson=_lesson(state, context, report) if learned else None,
        events=(
            *_told(step, revised),
            NewEvent(kind=EventKind.STEP_FINISHED, data=_finished(step, best_id, best_speedup)),
        ),
    )


def _revised(
    state: WorkflowState, context: JobContext, current: EvaluatedCandidate | None
) -> Mapping[str, EvaluationReport]:
    """Reports that take others' places: of a doubtful candidate, or of both measurements that contradict each other."""
    if current is None or current.report is None:
        return {}
    own, report = evaluation_id(current.candidate.id), current.report
    if state.get("doubt") is not None:
        return {own: report}
    first = context.start_point(state) if origin_of(state) is Origin.CONFIRMATION else None
    if first is None or first.candidate_id is None or first.report is None:
        return {}
    if not (first.report.accepted and report.accepted and contradicts(first.report, report)):
        return {}
    return {evaluation_id(first.candidate_id): widened(first.report, report), own: widened(report, first.report)}


def _told(step: Step, revised: Mapping[str, EvaluationReport]) -> tuple[NewEvent, ...]:
    if len(revised) < 2:
        return ()
    low, high = next(iter(revised.values())).speedup.ci95 or (0.0, 0.0)
    text = f"round {step.index + 1} contradicts the first measurement: both intervals are {low:.2f} to {high:.2f} now"
    return (NewEvent(kind=EventKind.JOB_NOTICE, data={"step": step.index, "message": text}),)


def _lesson(state: WorkflowState, context: JobContext, report: EvaluationReport | None) -> Lesson | None:
    return lesson_of(
        report,
        context.setting,
        holdout=state["holdout"],
        searched=origin_of(state) is not Origin.SEED,
        backend=context.job.spec.backend,
    )


async def _step(state: WorkflowState, context: JobContext, report: EvaluationReport | None, at: datetime) -> Step:
    start = context.start_point(state)
    made = state.get("candidate_id")
    stage = Stage(state["stage"])
    return Step(
        job_id=context.job.id,
        team_id=context.job.team_id,
        index=state["step"],
        stage=stage,
        start_point=start.candidate_id if start is not None else None,
        plan=await context.plan(state),
        calls=_in_order(await context.calls(state), context.cache(state).lost),
        candidate_id=made,
        evaluation_id=evaluation_id(made) if made is not None and report is not None else None,
        verdict=report.verdict if report is not None else None,
        experiences_used=tuple(item[0] for item in state["recalled"]),
        reward=reward(stage, report, _best_median_us(context, state["known"])) if course_of(state).learned else None,
        critique=state.get("critique"),
        failure=state.get("failure"),
        started_at=started_at(state),
        finished_at=at,
    )


def _in_order(answered: Sequence[ModelCall], lost: Sequence[ModelCall]) -> tuple[ModelCall, ...]:
    """A step's calls, those that came to no answer before the ones that the same role was asked next."""
    left, calls = list(lost), list[ModelCall]()
    for call in answered:
        before = [item for item in left if item.role is call.role]
        left = [item for item in left if item.role is not call.role]
        calls += [*before, call]
    return (*calls, *left)


def _experiences(
    context: JobContext, state: WorkflowState, step: Step, current: EvaluatedCandidate | None
) -> tuple[Experience, ...]:
    if current is None or current.report is None:
        return ()
    start = context.start_point(state)
    return experiences_of(
        current.candidate,
        current.report,
        stage=step.stage,
        plan=step.plan,
        critique=step.critique,
        used=step.experiences_used,
        setting=context.setting,
        subject=context.analysis.subject,
        bottleneck=state.get("diagnosis"),
        parent=start.report if start is not None else None,
        at=step.finished_at,
    )


def _origin(state: WorkflowState, start: AttemptFact | None) -> Origin:
    ready = origin_of(state)
    if ready is not None:
        return ready
    if start is None:
        return Origin.DRAFT
    accepted = start.report is not None and start.report.accepted
    return Origin.REFINEMENT if accepted else Origin.REPAIR


def _best_median_us(context: JobContext, before: int) -> float | None:
    best = context.best(before)
    return None if best is None or best.report is None or best.report.latency is None else best.report.latency.median_us


def _best(context: JobContext, step: Step, current: EvaluatedCandidate | None) -> tuple[str | None, float | None]:
    """The best candidate after the step, with its speedup against the best baseline."""
    lead = leader([*context.attempts[: step.index], attempt_of(step, current)])
    if lead is None or lead.report is None:
        return None, None
    return lead.candidate_id, lead.report.speedup.best_baseline


def _finished(step: Step, best_id: str | None, best_speedup: float | None) -> dict[str, JsonValue]:
    return {
        "step": step.index,
        "stage": step.stage.value,
        "verdict": step.verdict.value if step.verdict is not None else None,
        "reward": step.reward,
        "best_candidate_id": best_id,
        "best_speedup": best_speedup,
        "failure": step.failure,
    }
