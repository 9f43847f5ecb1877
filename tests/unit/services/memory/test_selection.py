"""Rules choose within the pool, deterministically for a seed, and learn which experiences help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.selection_rules import BySimilarity, EpsilonGreedy, ThompsonBeta
from services.domain.jobs import Stage
from services.memory.drift import Forgetting
from services.memory.joint import JointPosterior
from services.memory.selection import (
    EpsilonSchedule,
    Evidence,
    PoolSchedule,
    RewardedStep,
    SelectionRule,
)
from tests.unit.services.memory.builders import pool, request

RULES: list[SelectionRule] = [BySimilarity(), EpsilonGreedy(), ThompsonBeta(), JointPosterior()]
NAMES = [f"item-{n}" for n in range(12)]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def trials(
    reward: Callable[[tuple[str, ...], np.random.Generator], float], count: int = 120, size: int = 3
) -> list[RewardedStep]:
    """Trials of random contexts."""
    draws = rng(7)
    made = []
    for _ in range(count):
        items = tuple(str(name) for name in draws.choice(NAMES, size, replace=False))
        made.append(RewardedStep(items=items, similarities=(0.5,) * size, reward=reward(items, draws)))
    return made


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_gives_the_same_different_items_of_the_pool_for_the_same_seed(rule: SelectionRule) -> None:
    asked = request(pool(*NAMES), trials=trials(lambda items, r: 1.0 if r.random() < 0.3 else -1.0), count=4)
    first = rule.choose(asked, rng(5))
    assert first == rule.choose(asked, rng(5))
    assert len(set(first)) == 4
    assert set(first) <= set(NAMES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_takes_what_there_is_when_the_pool_is_small(rule: SelectionRule) -> None:
    assert set(rule.choose(request(pool("a", "b"), count=6), rng())) == {"a", "b"}
    assert rule.choose(request([], count=6), rng()) == ()


def test_similarity_takes_the_most_similar() -> None:
    assert BySimilarity().choose(request(pool("a", "b", "c")), rng()) == ("a", "b")


def test_epsilon_greedy_without_exploration_takes_the_highest_values() -> None:
    rule = EpsilonGreedy(schedule=EpsilonSchedule(start=0.0))
    assert rule.choose(request(pool("a", "b", "c", value=[0.1, 0.9, 0.5])), rng()) == ("b", "c")


def test_epsilon_greedy_explores_less_as_outcomes_come_in() -> None:
    schedule = EpsilonSchedule(start=0.3, decay_steps=1000)
    assert [round(schedule.epsilon(step), 3) for step in (0, 500, 950, 5000)] == [0.3, 0.15, 0.03, 0.03]


def test_the_pool_grows_with_the_outcomes_and_then_stays() -> None:
    schedule = PoolSchedule(start=4, end=12, ramp_steps=100)
    assert [schedule.size(step, 4) for step in (0, 50, 100, 900)] == [16, 32, 48, 48]
    assert PoolSchedule(start=2, end=2, ramp_steps=0).size(0, 6) == 12


def helped(items: tuple[str, ...], draws: np.random.Generator) -> float:
    """Two of the twelve help."""
    chance = 0.05 + 0.4 * len({"item-10", "item-11"} & set(items))
    return 1.0 if draws.random() < chance else -1.0


@pytest.mark.parametrize("rule", [ThompsonBeta(), JointPosterior()], ids=lambda rule: rule.name)
def test_posterior_rules_find_the_items_that_help_a_draft(rule: SelectionRule) -> None:
    asked = request(pool(*NAMES), trials=trials(helped, 300))
    chosen = [name for seed in range(20) for name in rule.choose(asked, rng(seed))]
    assert chosen.count("item-10") + chosen.count("item-11") >= 30


def test_the_joint_posterior_finds_the_items_that_speed_up_a_refinement() -> None:
    def gain(items: tuple[str, ...], draws: np.random.Generator) -> float:
        return float(-0.4 + 0.8 * len({"item-10", "item-11"} & set(items)) + draws.normal() * 0.7)

    seen = request(pool(*NAMES), trials=trials(gain, 150), stage=Stage.REFINE)
    asked = replace(seen, own=JointPosterior().digest(seen, rng()))
    chosen = [name for seed in range(20) for name in JointPosterior().choose(asked, rng(seed))]
    assert chosen.count("item-10") + chosen.count("item-11") >= 36


def test_the_joint_posterior_gives_no_credit_to_an_item_that_only_came_along() -> None:
    """`rider` succeeds as often as `item-10`, because it was only ever there together with it."""
    with_both = [
        RewardedStep(items=("item-10", "rider"), similarities=(0.5, 0.5), reward=r) for r in (1, 1, 1, -1) * 10
    ]
    alone = [RewardedStep(items=("item-10", "item-1"), similarities=(0.5, 0.5), reward=r) for r in (1, 1, 1, -1) * 10]
    neither = [RewardedStep(items=("item-1", "item-2"), similarities=(0.5, 0.5), reward=-1.0) for _ in range(40)]
    digest = JointPosterior(digest_sweeps=60).digest(request([], trials=with_both + alone + neither), rng())
    assert digest.helpful["item-10"] > 0.95
    assert digest.helpful["rider"] < 0.5


def test_the_joint_posterior_forgets_what_stopped_helping() -> None:
    once = [RewardedStep(items=("old", "item-1"), similarities=(0.5, 0.5), reward=1.0) for _ in range(60)]
    now = [RewardedStep(items=("old", "item-1"), similarities=(0.5, 0.5), reward=-1.0) for _ in range(60)]
    news = [RewardedStep(items=("new", "item-1"), similarities=(0.5, 0.5), reward=1.0) for _ in range(30)]
    rule = JointPosterior(forgetting=Forgetting(half_life=15))
    digest = rule.digest(request([], trials=once + now + news), rng())
    assert digest.helpful["new"] > 0.9
    assert digest.helpful["old"] < 0.3


def test_other_families_teach_which_similarities_help() -> None:
    """Elsewhere the less similar items helped; so they are tried first here, where nothing was tried yet."""
    bins = np.zeros((2, JointPosterior().bands))
    bins[:, int(0.6 * 40)] = (18, 20)
    bins[:, int(0.9 * 40)] = (0, 60)
    other = Evidence(bins=tuple(tuple(float(x) for x in row) for row in bins))
    items = pool("near-1", "near-2", "far-1", "far-2", similarity=[0.91, 0.905, 0.61, 0.605])
    taught = [JointPosterior().choose(request(items, others=[other]), rng(seed)) for seed in range(20)]
    assert sum(set(chosen) == {"far-1", "far-2"} for chosen in taught) >= 12


def test_evidence_of_an_older_setting_is_left_out() -> None:
    other = Evidence(levels=((1.0, 2.0),), bins=((1.0,), (2.0,)))
    assert JointPosterior().choose(request(pool("a", "b"), others=[other]), rng())


def test_looking_at_a_window_bounds_the_cost_of_a_choice() -> None:
    rule = JointPosterior(window=64)
    many = trials(helped, 500)
    assert rule.choose(request(pool(*NAMES), trials=many), rng()) == rule.choose(
        request(pool(*NAMES), trials=many[-64:]), rng()
    )
