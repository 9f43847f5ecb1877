"""Rewards and experiences."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from services.domain.chat import MoveFact, PlanFact
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.experiences import Experience, ExperienceKind, experience_id
from services.domain.jobs import Stage
from services.team_memory.reward import Setting, describe_moves, experiences_of, reward
from tests.doubles import a_candidate, a_report
from tests.doubles.builders import MOMENT

PLAN = PlanFact(
    start_point=None,
    hypothesis="rows fit the cache",
    moves=(MoveFact(name="fuse"), MoveFact(name="tile_rows", parameters=(("rows", 4),))),
    expected_gain=1.5,
)


def learned(
    report: EvaluationReport, *, plan: PlanFact = PLAN, parent: EvaluationReport | None = None
) -> tuple[Experience, ...]:
    return experiences_of(
        a_candidate(),
        report,
        stage=Stage.DRAFT,
        plan=plan,
        parent=parent,
        critique="the tail is skipped",
        used=("exp-a", "exp-b"),
        setting=Setting(family="norm", device="cpu", toolchain="g++ 12"),
        at=MOMENT,
    )


@pytest.mark.parametrize(
    ("stage", "report", "best_us", "expected"),
    [
        (Stage.DRAFT, a_report(), None, 1.0),
        (Stage.DRAFT, a_report(Verdict.REJECTED), None, -1.0),
        (Stage.REFINE, a_report(Verdict.REJECTED), 100.0, -1.0),
        (Stage.REFINE, a_report(median_us=50.0), 100.0, math.tanh(math.log(2))),
        (Stage.REFINE, a_report(median_us=100.0), 100.0, 0.0),
        (Stage.REFINE, a_report(median_us=200.0), 100.0, -math.tanh(math.log(2))),
        (Stage.DRAFT, a_report(Verdict.SUSPICIOUS), None, None),
        (Stage.REFINE, a_report(Verdict.SUSPICIOUS, median_us=1.0), 100.0, None),
        (Stage.DRAFT, a_report(Verdict.INFRASTRUCTURE_ERROR), None, None),
        (Stage.DRAFT, None, None, None),
    ],
)
def test_rewards(stage: Stage, report: EvaluationReport | None, best_us: float | None, expected: float | None) -> None:
    found = reward(stage, report, best_us)

    assert found == (None if expected is None else pytest.approx(expected))


def test_an_accepted_candidate_leaves_one_experience_with_its_code_and_the_lesson() -> None:
    (trace,) = learned(a_report(median_us=100.0))

    assert (trace.kind, trace.code) == (ExperienceKind.TRACE, a_candidate().source)
    assert trace.id == experience_id(a_candidate().id, ExperienceKind.TRACE)
    assert trace.title == "norm in cpp: fuse, tile_rows(rows=4): accepted at 100.0 µs, 2.00× the best baseline"
    assert "accepted at 100.0 µs (98.0 to 102.0), 2.00× the best baseline (" in trace.text
    assert "rows fit the cache" in trace.text
    assert trace.moves == ("fuse", "tile_rows")
    assert (trace.speedup, trace.median_us, trace.bottleneck) == (2.0, 100.0, "memory")
    assert trace.used == ("exp-a", "exp-b")
    assert trace.candidate_id == a_candidate().id


def test_a_regression_is_marked_with_its_interval() -> None:
    (slower,) = learned(a_report(median_us=150.0), parent=a_report(median_us=100.0))
    (same,) = learned(a_report(median_us=100.5), parent=a_report(median_us=100.0))

    assert "; slower than its parent: 0.67× (0." in slower.text
    assert "; within noise of its parent: 1.00× (0." in same.text


def test_a_replys_text_is_not_kept_whole() -> None:
    long = replace(PLAN, hypothesis="h" * 30_000, moves=(MoveFact(name="tile", parameters=(("why", "w" * 30_000),)),))

    (trace,) = learned(a_report(), plan=long)

    assert len(trace.text) < 4100
    assert len(trace.title) < 400


def test_a_failure_keeps_the_gate_s_evidence_bounded() -> None:
    (failure,) = learned(a_report(Verdict.REJECTED, detail="error: expected ';'" + "!" * 5000))

    assert failure.kind is ExperienceKind.FAILURE
    assert "correctness: error: expected ';'" in failure.text
    assert "the tail is skipped" in failure.text
    assert len(failure.text) < 1200
    assert (failure.speedup, failure.median_us) == (None, None)


def test_ids_are_the_same_on_every_resume() -> None:
    assert learned(a_report())[0].id == learned(a_report())[0].id
    assert learned(a_report())[0].id != learned(a_report(Verdict.REJECTED))[0].id


@pytest.mark.parametrize("verdict", [Verdict.SUSPICIOUS, Verdict.INFRASTRUCTURE_ERROR])
def test_doubtful_outcomes_teach_nothing(verdict: Verdict) -> None:
    assert learned(a_report(verdict)) == ()


def test_moves_are_described_with_their_parameters() -> None:
    assert describe_moves(PLAN.moves) == "fuse, tile_rows(rows=4)"
    assert describe_moves(()) == "no named move"
