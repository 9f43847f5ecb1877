"""Facts for tests of agents and strategies."""

from __future__ import annotations

from services.domain.candidates import candidate_id
from services.domain.chat import AttemptFact, Facts, PlanFact
from services.domain.evaluations import EvaluationReport
from services.domain.experiences import RecalledExperience
from services.domain.jobs import Stage
from services.domain.measurements import Baselines
from services.domain.problems import Problem
from tests.doubles import a_device, a_problem, a_report, an_analysis


def an_attempt(
    step: int,
    report: EvaluationReport | None = None,
    *,
    parent: int | None = None,
    failure: str | None = None,
    critique: str | None = None,
) -> AttemptFact:
    return AttemptFact(
        step=step,
        stage=Stage.DRAFT,
        candidate_id=None if failure else candidate_id("job-1", step),
        parent_id=None if parent is None else candidate_id("job-1", parent),
        plan=None,
        source=None if failure else f"class ModelNew:\n    STEP = {step}\n",
        report=None if failure else report or a_report(),
        failure=failure,
        critique=critique,
    )


def some_facts(
    *,
    problem: Problem | None = None,
    attempts: tuple[AttemptFact, ...] = (),
    start_point: AttemptFact | None = None,
    experiences: tuple[RecalledExperience, ...] = (),
    plan: PlanFact | None = None,
    source: str | None = None,
    report: EvaluationReport | None = None,
    step: int | None = None,
) -> Facts:
    return Facts(
        job_id="job-1",
        step=len(attempts) if step is None else step,
        stage=Stage.DRAFT,
        seed=0,
        problem=problem or a_problem(),
        analysis=an_analysis(),
        backend="cpp",
        device=a_device(),
        baselines=Baselines(),
        attempts=attempts,
        experiences=experiences,
        start_point=start_point,
        plan=plan,
        source=source,
        report=report,
    )
