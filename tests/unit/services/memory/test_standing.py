"""What the uses of a practice say of it: its own effect, apart from that of what stood beside it."""

from __future__ import annotations

import numpy as np
import pytest

from services.domain.jobs import Stage
from services.domain.practices import RewardedTrial
from services.memory.standing import UNUSED, PracticeStanding, StandingVerdict, standings


def trials(*steps: tuple[str, float], stage: Stage = Stage.REFINE) -> list[RewardedTrial]:
    """`("a b", 0.5)` is a step with the experiences a and b and this reward."""
    return [RewardedTrial(stage=stage, items=tuple(names.split()), reward=reward) for names, reward in steps]


def of(steps: list[RewardedTrial], name: str) -> PracticeStanding:
    return standings(steps, [name])[name]


def test_an_unused_practice_is_open_with_a_wide_interval() -> None:
    assert standings(trials(("a", 1.0)), ["b"]) == {"b": UNUSED}
    assert UNUSED.verdict is StandingVerdict.OPEN
    assert UNUSED.high - UNUSED.low > 3.9


def test_it_is_the_posterior_of_a_linear_regression() -> None:
    rng = np.random.default_rng(1)
    steps = [
        RewardedTrial(
            stage=Stage.DRAFT, items=tuple(name for name in "abc" if rng.random() < 0.5), reward=float(rng.normal())
        )
        for _ in range(30)
    ]
    design = np.array([[1.0, *(float(name in step.items) for name in "abc")] for step in steps])
    precision = design.T @ design + np.eye(4)
    rewards = np.array([step.reward for step in steps])
    mean = np.linalg.solve(precision, design.T @ ((rewards - rewards.mean()) / rewards.std()))

    found = of(steps, "b")

    assert found.value == pytest.approx(mean[2])
    assert found.high - found.value == pytest.approx(1.959964 * np.sqrt(np.linalg.inv(precision)[2, 2]))


@pytest.mark.parametrize(("reward", "verdict"), [(-1.4, StandingVerdict.REFUTED), (1.4, StandingVerdict.HELPS)])
def test_steady_rewards_are_sure_within_ten_uses_and_never_at_once(reward: float, verdict: StandingVerdict) -> None:
    others = [("", 0.3), ("", -0.3)] * 10
    found = [of(trials(*others, *[("a", reward)] * uses), "a").verdict for uses in range(1, 11)]

    assert found[:2] == [StandingVerdict.OPEN] * 2
    assert found[-1] is verdict


def test_a_practice_is_not_blamed_for_what_stood_beside_it() -> None:
    steps = trials(*[("bad", -1.2)] * 8, *[("bad good", -1.0)] * 6, *[("good", 0.3)] * 4, *[("", 0.1)] * 8)

    assert of(steps, "bad").verdict is StandingVerdict.REFUTED
    assert of(steps, "good").verdict is StandingVerdict.OPEN
    assert of(steps, "good").value > 0.0


def test_two_that_always_come_together_are_both_left_open() -> None:
    steps = trials(*[("one two", -1.0)] * 6, *[("", 0.2)] * 6)

    assert {of(steps, name).verdict for name in ("one", "two")} == {StandingVerdict.OPEN}


def test_a_practice_of_average_worth_is_rarely_called_sure() -> None:
    rng = np.random.default_rng(3)
    sure = 0
    for _ in range(300):
        steps = trials(
            *[("a", float(rng.normal())) for _ in range(10)], *[("", float(rng.normal())) for _ in range(30)]
        )
        sure += of(steps, "a").verdict is not StandingVerdict.OPEN

    assert sure / 300 < 0.07


def test_drafts_and_refinements_count_together_each_against_its_own_mean() -> None:
    drafts = trials(*[("a", -3.0)] * 2, *[("", 1.0)] * 8, stage=Stage.DRAFT)
    later = trials(*[("a", -0.5)] * 2, *[("", 0.5)] * 8)

    assert standings([*drafts, *later], ["a"])["a"].uses == 4
    assert standings([*drafts, *later], ["a"])["a"].value < standings(drafts, ["a"])["a"].value < 0.0
