"""Rewards and experiences."""

from __future__ import annotations

import math

import pytest

from services.domain.chat import MoveFact, PlanFact
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.experiences import Experience, ExperienceKind, experience_id
from services.domain.jobs import Stage
from services.learning import Setting, describe_moves, experiences_of, reward
from services.testing import a_candidate, a_report
from services.testing.builders import MOMENT

PLAN = PlanFact(
    start_point=None,
    hypothesis="rows fit the cache",
    moves=(MoveFact(name="fuse"), MoveFact(name="tile_rows", parameters=(("rows", 4),))),
    expected_gain=1.5,
)


def learned(report: EvaluationReport) -> tuple[Experience, ...]:
    return experiences_of(
        a_candidate(),
        report,
        stage=Stage.DRAFT,
        plan=PLAN,
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


def test_an_accepted_candidate_leaves_its_code_as_a_trace_and_the_lesson_in_words() -> None:
    trace, success = learned(a_report(median_us=100.0))

    assert (trace.kind, trace.code) == (ExperienceKind.TRACE, a_candidate().source)
    assert (success.kind, success.code) == (ExperienceKind.SUCCESS, None)
    assert (trace.text, trace.median_us, trace.used) == (success.text, success.median_us, success.used)
    assert trace.id == experience_id(a_candidate().id, ExperienceKind.TRACE)


def test_a_success_says_what_was_done_and_what_it_brought() -> None:
    _, success = learned(a_report(median_us=100.0))

    assert success.kind is ExperienceKind.SUCCESS
    assert success.title == "norm in cpp: fuse, tile_rows(rows=4): accepted at 100.0 µs, 2.00× the best baseline"
    assert "rows fit the cache" in success.text
    assert success.moves == ("fuse", "tile_rows")
    assert (success.speedup, success.median_us, success.bottleneck) == (2.0, 100.0, "memory")
    assert success.used == ("exp-a", "exp-b")
    assert success.candidate_id == a_candidate().id


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
