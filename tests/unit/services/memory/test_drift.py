"""Old trials fade, and count little once rewards have fallen; a hard problem is no drift."""

from __future__ import annotations

import numpy as np

from services.memory.drift import Forgetting
from services.memory.selection import RewardedStep


def trials(rates: list[tuple[int, float]], *, per_job: int = 5) -> list[RewardedStep]:
    rng = np.random.default_rng(4)
    rewards = [1.0 if rng.random() < rate else -1.0 for count, rate in rates for _ in range(count)]
    return [
        RewardedStep(items=("a",), similarities=(0.5,), reward=reward, job_id=f"job-{index // per_job}")
        for index, reward in enumerate(rewards)
    ]


def test_a_trial_counts_half_after_the_half_life() -> None:
    weights = Forgetting(half_life=10).weights(trials([(21, 0.5)]))
    assert weights[-1] == 1.0
    assert weights[10] == 0.5
    assert weights[0] == 0.25


def test_a_fall_of_the_success_rate_sets_older_trials_back() -> None:
    forgetting = Forgetting(half_life=1e9)
    seen = trials([(60, 0.8), (20, 0.05)])
    (start,) = forgetting.falls(seen)
    assert 55 <= start <= 64
    assert np.allclose(forgetting.weights(seen)[:start], 0.01)
    assert np.allclose(forgetting.weights(seen)[start:], 1.0)


def test_a_fall_stays_known_after_the_rewards_have_recovered() -> None:
    assert len(Forgetting().falls(trials([(60, 0.8), (40, 0.05), (100, 0.8)]))) == 1


def test_learning_is_no_fall() -> None:
    assert Forgetting().falls(trials([(80, 0.05), (80, 0.3), (150, 0.8)])) == []


def test_a_steady_rate_is_no_fall() -> None:
    assert Forgetting().falls(trials([(512, 0.5)])) == []


def test_one_hard_problem_is_no_fall() -> None:
    seen = trials([(60, 0.8), (12, 0.0)])
    alone = [
        RewardedStep(
            items=t.items, similarities=t.similarities, reward=t.reward, job_id="hard" if index >= 60 else t.job_id
        )
        for index, t in enumerate(seen)
    ]
    assert len(Forgetting().falls(seen)) == 1
    assert all(start < 60 for start in Forgetting().falls(alone))


def test_too_few_trials_are_only_aged() -> None:
    assert Forgetting().weights([]).tolist() == []
    assert Forgetting().falls(trials([(20, 0.9), (12, 0.0)])) == []
