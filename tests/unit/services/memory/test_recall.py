"""Recall in one call: keys, then vectors, then the rule."""

from __future__ import annotations

import numpy as np

from benchmarks.selection_rules import BySimilarity, EpsilonGreedy
from services.domain.jobs import Stage
from services.memory.keys import Keys
from services.memory.learner import Learner
from services.memory.recall import Recall, VectorTable
from services.memory.selection import EpsilonSchedule, PoolSchedule
from tests.unit.services.memory.builders import SITE, outcome


def a_table() -> VectorTable:
    """Twelve softmax items, ever less similar to (1, 0), and one of another backend that is the most similar."""
    table = VectorTable(2)
    for index in range(12):
        angle = 0.1 + 0.05 * index
        vector = np.array([[np.cos(angle), np.sin(angle)]], dtype=np.float32)
        table.append([f"item-{index}"], [Keys(family="softmax", backend="cpp")], vector)
    table.append(["triton"], [Keys(family="softmax", backend="triton")], np.array([[1.0, 0.0]], dtype=np.float32))
    return table


QUERY = np.array([1.0, 0.0], dtype=np.float32)


def ask(**changes: object) -> Recall:
    made = {"stage": Stage.DRAFT, "keys": Keys(family="softmax", backend="cpp"), "site": SITE, "count": 3, **changes}
    return Recall(**made)  # type: ignore[arg-type]


def names(recall: Recall, learner: Learner) -> list[str]:
    return [item.experience_id for item in recall.choose(a_table(), QUERY, learner)]


def test_the_most_similar_that_fit_come_when_nothing_chooses_by_value() -> None:
    assert names(ask(), Learner(rule=BySimilarity())) == ["item-0", "item-1", "item-2"]
    assert names(ask(filtered=False), Learner(rule=BySimilarity())) == ["item-0", "item-1", "item-2"]
    assert names(ask(keys=Keys(family="softmax")), Learner(rule=BySimilarity()))[0] == "triton"


def test_what_was_learned_decides_within_the_pool_and_only_there() -> None:
    learner = Learner(rule=EpsilonGreedy(schedule=EpsilonSchedule(start=0.0)))
    learner.rebuild(
        [outcome(1, "item-5"), outcome(2, "item-11"), *(outcome(n, "item-0", accepted=False) for n in (3, 4))]
    )
    small = ask(schedule=PoolSchedule(start=2, end=2, ramp_steps=0))
    assert names(small, learner)[0] == "item-5"
    assert "item-11" not in names(small, learner)
    assert set(names(ask(), learner)[:2]) == {"item-5", "item-11"}
    assert "item-0" not in names(ask(), learner)


def test_recalled_items_carry_similarity_and_value() -> None:
    learner = Learner(rule=BySimilarity())
    learner.rebuild([outcome(1, "item-1")])
    first, second, _ = ask().choose(a_table(), QUERY, learner)
    assert first.value is None
    assert second.value == learner.values.value(Stage.DRAFT, "item-1", "softmax", SITE)
    assert abs(first.similarity - np.cos(0.1)) < 1e-5


def test_recall_is_the_same_for_one_seed_and_varies_between_seeds() -> None:
    assert names(ask(seed=1), Learner()) == names(ask(seed=1), Learner())
    assert len({tuple(names(ask(seed=seed), Learner())) for seed in range(10)}) > 1


def test_an_empty_memory_gives_nothing() -> None:
    assert ask().choose(VectorTable(2), QUERY, Learner()) == ()


def test_a_table_grows_without_losing_rows() -> None:
    table = a_table()
    assert table.vectors.shape == (13, 2)
    assert len(table.keys) == len(table.ids) == 13
    assert np.allclose(np.linalg.norm(table.vectors, axis=1), 1.0)
    before = table.vectors.copy()
    table.append([f"more-{n}" for n in range(100)], [Keys()] * 100, np.tile(QUERY, (100, 1)))
    assert np.array_equal(table.vectors[:13], before)
