"""Only what the referee accepted or rejected enters the value log."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from services.domain.evaluations import Environment, EvaluationReport, PhasesS, Verdict
from services.domain.jobs import Stage
from services.domain.measurements import Baselines, Latency, Speedup
from services.domain.steps import Lesson, Step
from services.domain.value_log import ContextItem, OutcomeEntry
from services.memory.outcome import outcome_entry, site

NOW = datetime(2026, 11, 1, tzinfo=UTC)
STEP = Step(
    job_id="job-1",
    team_id="local",
    index=3,
    stage=Stage.REFINE,
    start_point="cand-0",
    plan=None,
    calls=(),
    candidate_id="cand-1",
    evaluation_id="eval-1",
    verdict=Verdict.ACCEPTED,
    experiences_used=("exp-a", "exp-b"),
    reward=0.1,
    started_at=NOW,
    finished_at=NOW,
)


def report(verdict: Verdict, *, median_us: float | None = 80.0) -> EvaluationReport:
    latency = Latency(median_us=median_us or 0, mean_us=80, p10_us=79, p90_us=81, ci95_us=(79.5, 80.5), samples=100)
    environment = Environment(
        device="cpu", driver=None, torch=None, triton=None, toolkit=None, cpu="", referee_version="1", tf32=False,
        isolation="limits",
    )  # fmt: skip
    return EvaluationReport(
        verdict=verdict,
        failed_gate=None,
        gates=(),
        latency=latency if median_us else None,
        baselines=Baselines(),
        speedup=Speedup(best_baseline=2.5),
        shapes=(),
        roofline=None,
        profile=None,
        tuned=None,
        environment=environment,
        phases_s=PhasesS(),
    )


def entry(step: Step, judged: EvaluationReport) -> OutcomeEntry | None:
    return outcome_entry(
        7,
        step,
        Lesson(report=judged, family="softmax", site=site("cpu", "g++ 12.2")),
        similarities={"exp-a": 0.75},
        start_point="exp-0",
        made=("exp-1",),
    )


def test_an_accepted_step_is_logged_with_what_it_used_and_made() -> None:
    assert entry(STEP, report(Verdict.ACCEPTED)) == OutcomeEntry(
        seq=7,
        evaluation_id="eval-1",
        job_id="job-1",
        step=3,
        family="softmax",
        site="cpu/g++ 12.2",
        accepted=True,
        median_us=80.0,
        speedup=2.5,
        context=(
            ContextItem(experience_id="exp-a", similarity=0.75),
            ContextItem(experience_id="exp-b", similarity=0.0),
        ),
        start_point="exp-0",
        made=("exp-1",),
    )


def test_a_rejected_step_is_logged_without_figures() -> None:
    made = entry(STEP, report(Verdict.REJECTED))
    assert made is not None
    assert (made.accepted, made.median_us, made.speedup) == (False, None, None)


@pytest.mark.parametrize("verdict", [Verdict.SUSPICIOUS, Verdict.INFRASTRUCTURE_ERROR])
def test_doubtful_outcomes_and_the_machines_failures_teach_nothing(verdict: Verdict) -> None:
    assert entry(STEP, report(verdict)) is None


def test_a_step_without_an_evaluation_teaches_nothing() -> None:
    assert entry(replace(STEP, evaluation_id=None), report(Verdict.ACCEPTED)) is None
    assert entry(STEP, report(Verdict.ACCEPTED, median_us=None)) is None
