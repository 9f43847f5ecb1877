"""From a step of the workflow to an entry of the value log."""

from __future__ import annotations

from collections.abc import Mapping

from services.domain.evaluations import Verdict
from services.domain.steps import Lesson, Step
from services.domain.value_log import ContextItem, OutcomeEntry


def site(device: str, toolchain: str) -> str:
    """Where a value was learned, as the log and the values name it."""
    return f"{device}/{toolchain}"


def outcome_entry(
    seq: int,
    step: Step,
    lesson: Lesson,
    *,
    similarities: Mapping[str, float],
    start_point: str | None,
    made: tuple[str, ...],
) -> OutcomeEntry | None:
    """What a step teaches; None where nothing is learned: doubtful verdicts, the machine's failures, no evaluation.

    `similarities` are those of recall, by experience; `start_point` is the trace experience of the candidate the step
    started from, `made` the ids of the experiences written about its candidate.
    """
    report = lesson.report
    if step.evaluation_id is None or report.verdict not in (Verdict.ACCEPTED, Verdict.REJECTED):
        return None
    if report.accepted and report.latency is None:
        return None
    return OutcomeEntry(
        seq=seq,
        evaluation_id=step.evaluation_id,
        job_id=step.job_id,
        step=step.index,
        family=lesson.family,
        site=lesson.site,
        accepted=report.accepted,
        median_us=report.latency.median_us if report.accepted and report.latency else None,
        speedup=report.speedup.best_baseline if report.accepted else None,
        context=tuple(
            ContextItem(experience_id=name, similarity=similarities.get(name, 0.0)) for name in step.experiences_used
        ),
        start_point=start_point,
        made=made,
        holdout=lesson.holdout,
        searched=lesson.searched,
        backend=lesson.backend,
    )
