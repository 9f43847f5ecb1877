"""Search states for tests of strategies."""

from __future__ import annotations

from dataclasses import replace

from services.domain.chat import AttemptFact, HypothesisFact, PlanFact
from services.domain.evaluations import Verdict
from services.domain.measurements import Baselines
from services.ports.search import SearchState
from tests.doubles import a_report
from tests.unit.agents.some_facts import an_attempt

SERIAL = "class ModelNew: ...\n"
THREADED = 'extern "C" void run()\n#pragma omp parallel for\nclass ModelNew: ...\n'
VECTOR = 'extern "C" void run()\n#pragma omp simd\nclass ModelNew: ...\n'


def a_state(
    *attempts: AttemptFact, best: int | None = None, seed: int = 0, branch: int = 0, width: int = 1
) -> SearchState:
    return SearchState(
        attempts=attempts,
        best_candidate_id=None if best is None else attempts[best].candidate_id,
        baselines=Baselines(),
        floor_us=1.0,
        seed=seed,
        branch=branch,
        width=width,
    )


def accepted(step: int, median_us: float, *, parent: int | None = None, source: str | None = None) -> AttemptFact:
    attempt = an_attempt(step, a_report(median_us=median_us), parent=parent)
    return attempt if source is None else replace(attempt, source=source)


def rejected(step: int, *, parent: int | None = None) -> AttemptFact:
    return an_attempt(step, a_report(Verdict.REJECTED), parent=parent)


def planned(attempt: AttemptFact, hypothesis: str, *updates: HypothesisFact, gain: float = 1.0) -> AttemptFact:
    plan = PlanFact(
        start_point=attempt.parent_id,
        hypothesis=f"try {hypothesis}",
        moves=(),
        expected_gain=gain,
        hypothesis_id=hypothesis,
        hypotheses=updates,
    )
    return replace(attempt, plan=plan)
