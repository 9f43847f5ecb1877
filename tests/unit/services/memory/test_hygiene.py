"""Forgetting stays under the cap without losing what is used; near-duplicates become one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from services.domain.experiences import Experience, ExperienceKind
from services.domain.jobs import Stage
from services.memory.hygiene import Holding, near_duplicates, to_forget

START = datetime(2026, 1, 1, tzinfo=UTC)


def holding(
    name: str,
    *,
    value: float = 0.0,
    visits: float = 0.0,
    age_days: int = 0,
    kind: ExperienceKind = ExperienceKind.TRACE,
    moves: tuple[str, ...] = (),
) -> Holding:
    experience = Experience(
        id=name,
        team_id="local",
        kind=kind,
        stage=Stage.DRAFT,
        family="softmax",
        backend="cpp",
        device="cpu",
        toolchain="g++ 12.2",
        title=name,
        text=name,
        code=None,
        moves=moves,
        created_at=START - timedelta(days=age_days),
    )
    return Holding(experience=experience, value=value, visits=visits)


def test_nothing_is_forgotten_under_the_cap() -> None:
    assert to_forget([holding("a"), holding("b")], 2) == ()


def test_never_used_experiences_go_first_lowest_value_then_oldest() -> None:
    holdings = [
        holding("used and bad", value=-2.0, visits=9),
        holding("new", age_days=1),
        holding("old", age_days=9),
        holding("promising", value=1.0, age_days=99),
        holding("hopeless", value=-1.0),
    ]
    assert to_forget(holdings, 3) == ("hopeless", "old")
    assert to_forget(holdings, 0) == ("hopeless", "old", "new", "promising", "used and bad")


def test_seed_knowledge_stays_even_above_the_cap() -> None:
    holdings = [holding("sheet", kind=ExperienceKind.API_TEMPLATE), holding("a"), holding("b", visits=1)]
    assert to_forget(holdings, 0) == ("a", "b")


def vectors(*angles: float) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.array([[np.cos(angle), np.sin(angle)] for angle in angles], dtype=np.float32)


def test_the_more_used_of_two_near_duplicates_is_kept() -> None:
    found = near_duplicates([holding("a"), holding("b", visits=3), holding("far")], vectors(0.0, 0.05, 1.5))
    assert found == [("b", "a")]


def test_what_differs_in_moves_is_no_duplicate() -> None:
    holdings = [holding("a", moves=("fuse",)), holding("b", moves=("tile_rows",))]
    assert near_duplicates(holdings, vectors(0.0, 0.0)) == []


def test_a_chain_of_neighbours_does_not_collapse_into_one() -> None:
    """a~b and b~c, but a and c are not alike: b goes into a, c stays."""
    holdings = [holding("a", visits=3), holding("b", visits=2), holding("c", visits=1)]
    merges = near_duplicates(holdings, vectors(0.0, 0.15, 0.30), threshold=0.98)
    assert merges == [("a", "b")]


def test_many_duplicates_are_found_across_blocks() -> None:
    holdings = [holding(f"item-{index:04}", age_days=5000 - index) for index in range(2500)]
    merges = near_duplicates(holdings, vectors(*([0.0] * 2500)))
    assert len(merges) == 2499
    assert {kept for kept, _ in merges} == {"item-0000"}
