"""The simulation drives the product's code: a small run of it, with fixed seeds, keeps the benchmark honest."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.memory_simulation import (
    DEFAULT,
    ORACLE,
    SIMILARITY,
    Floats,
    Setting,
    World,
    closed_gap,
    simulate,
    steps_to_follow,
)

SMALL = Setting(distractors=9, steps=400)
TINY = Setting(distractors=9, steps=60)


@pytest.fixture(scope="module")
def results() -> dict[str, Floats]:
    return {one.title: simulate(one, SMALL, 0)[None, :] for one in (SIMILARITY, ORACLE, DEFAULT)}


def test_the_default_rule_learns_and_similarity_alone_does_not(results: dict[str, Floats]) -> None:
    assert closed_gap(results, SIMILARITY.title, slice(None))[0] == 0.0
    assert closed_gap(results, ORACLE.title, slice(None))[0] == 1.0
    assert closed_gap(results, DEFAULT.title, slice(-100, None))[0] > 0.5
    assert results[DEFAULT.title][:, -100:].mean() > results[DEFAULT.title][:, :100].mean() + 0.2


def test_a_run_can_be_repeated() -> None:
    assert np.array_equal(simulate(DEFAULT, TINY, 1), simulate(DEFAULT, TINY, 1))


def test_distractors_are_more_similar_to_the_problems_than_what_helps() -> None:
    world = World(Setting(distractors=37, steps=1), seed=0)
    similarity = world.vectors[world.family == 0] @ world.problem(0)
    helps = world.helps[world.family == 0]
    assert similarity[helps].mean() < similarity[~helps].mean() - 0.03


def test_after_a_drift_none_of_the_old_items_helps() -> None:
    world = World(Setting(distractors=9, steps=1), seed=0)
    before = world.helps.copy()
    world.drift()
    assert world.helps.sum() == before.sum() == 24
    assert not (world.helps & before).any()


def test_steps_to_follow_are_counted_from_the_drift_on() -> None:
    learned = np.concatenate([np.ones(1000), np.zeros(300), np.ones(700)])[None, :]
    made = {SIMILARITY.title: np.zeros((1, 2000)), ORACLE.title: np.ones((1, 2000)), "rule": learned}
    assert steps_to_follow(made, "rule", share=0.5, window=100) == 350
    assert steps_to_follow({**made, "rule": made[SIMILARITY.title]}, "rule", window=100) is None
