"""The effect of memory is a number with an interval, from steps that were held out by a hash."""

from __future__ import annotations

import random

import pytest

from services.domain.value_log import RetractionEntry
from services.memory.effect import (
    StepOutcome,
    estimate_effect,
    expected_rounds,
    is_holdout,
    newcombe,
    step_outcomes,
    wilson,
)
from tests.unit.services.memory.builders import outcome


def test_the_holdout_takes_its_share_and_decides_the_same_after_a_resume() -> None:
    held = [is_holdout(f"job-{job}", step, 0.1) for job in range(400) for step in range(10)]
    assert 0.08 < sum(held) / len(held) < 0.12
    assert held == [is_holdout(f"job-{job}", step, 0.1) for job in range(400) for step in range(10)]
    assert not any(is_holdout("job", step, 0.0) for step in range(100))
    assert all(is_holdout("job", step, 1.0) for step in range(100))


def test_wilsons_interval_has_the_published_bounds() -> None:
    """Newcombe 1998, table I: 81 of 263 is 0.2553 to 0.3662."""
    interval = wilson(81, 263)
    assert interval.low == pytest.approx(0.2553, abs=1e-4)
    assert interval.high == pytest.approx(0.3662, abs=1e-4)
    assert wilson(0, 0).estimate is None


def test_newcombes_interval_has_the_published_bounds() -> None:
    """Newcombe 1998, interval estimation for the difference, method 10: 56/70 against 48/80 is 0.0524 to 0.3339."""
    interval = newcombe(56, 70, 48, 80)
    assert interval.estimate == pytest.approx(0.2)
    assert interval.low == pytest.approx(0.0524, abs=1e-4)
    assert interval.high == pytest.approx(0.3339, abs=1e-4)
    assert newcombe(1, 2, 0, 0).estimate is None


def drafting(job: str, round_: int, *, with_memory: bool, accepted: bool) -> StepOutcome:
    return StepOutcome(
        job_id=job,
        draft_round=round_,
        with_memory=with_memory,
        accepted=accepted,
        speedup=(3.0 if with_memory else 1.5) if accepted else None,
    )


def test_expected_rounds_follow_from_the_chance_of_each_round() -> None:
    steps = [
        drafting("a", 1, with_memory=True, accepted=False),
        drafting("b", 1, with_memory=True, accepted=True),
        drafting("a", 2, with_memory=True, accepted=True),
    ]
    assert expected_rounds(steps, with_memory=True) == pytest.approx(1.5)
    assert expected_rounds(steps, with_memory=False) is None


def test_a_kind_that_never_succeeds_takes_all_rounds() -> None:
    steps = [drafting("a", n, with_memory=False, accepted=False) for n in range(1, 4)]
    assert expected_rounds(steps, with_memory=False) == pytest.approx(10.0)


def jobs(count: int, chance_with: float, chance_without: float, share: float = 0.3) -> list[StepOutcome]:
    rng = random.Random(5)
    steps = []
    for job in range(count):
        for round_ in range(1, 11):
            with_memory = rng.random() > share
            accepted = rng.random() < (chance_with if with_memory else chance_without)
            steps.append(drafting(f"job-{job}", round_, with_memory=with_memory, accepted=accepted))
            if accepted:
                break
    return steps


def test_an_effect_that_exists_is_found_with_intervals_that_hold_the_truth() -> None:
    effect = estimate_effect(jobs(150, 0.6, 0.2), draws=300)
    assert effect.success_difference.low is not None
    assert 0 < effect.success_difference.low < 0.4
    assert effect.success_difference.high is not None
    assert effect.success_difference.high > 0.4
    assert effect.rounds_saved.low is not None
    assert effect.rounds_saved.low > 0
    assert effect.rounds_with.estimate == pytest.approx(1 / 0.6, abs=0.3)
    assert effect.speedup_ratio.estimate == pytest.approx(2.0)


def test_no_effect_has_intervals_around_none() -> None:
    effect = estimate_effect(jobs(150, 0.4, 0.4), draws=300)
    for interval in (effect.success_difference, effect.rounds_saved):
        assert interval.low is not None
        assert interval.high is not None
        assert interval.low < 0 < interval.high


def test_too_few_jobs_give_an_estimate_without_an_interval() -> None:
    effect = estimate_effect(jobs(3, 0.6, 0.6), draws=50)
    assert effect.rounds_with.low is None
    assert estimate_effect([]).success_with.estimate is None


def test_steps_come_from_the_log_without_what_was_retracted() -> None:
    log = [
        outcome(1, accepted=False, job="j", holdout=True),
        outcome(2, "a", job="j", speedup=2.0),
        outcome(3, "a", us=50.0, job="j", speedup=4.0),
    ]
    assert [(one.draft_round, one.with_memory, one.speedup) for one in step_outcomes(log)] == [
        (1, False, None),
        (2, True, 2.0),
        (None, True, 4.0),
    ]
    retraction = RetractionEntry(seq=4, evaluation_id="eval-2", reason="cheats", actor="ana")
    assert [one.draft_round for one in step_outcomes([*log, retraction])] == [1, 2]
