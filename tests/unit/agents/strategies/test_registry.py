"""What every search strategy does."""

from __future__ import annotations

import pytest

from agents.strategies.registry import STRATEGIES, strategy
from tests.unit.agents.search_states import a_state, accepted, rejected


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_every_strategy_drafts_first_and_decides_the_same_again(name: str) -> None:
    attempts = (rejected(0), accepted(1, 100.0, parent=0), accepted(2, 90.0, parent=1), rejected(3, parent=2))

    assert strategy(name).name == name
    assert strategy(name).start_point(a_state()) is None
    for seed in range(5):
        state = a_state(*attempts, seed=seed)
        assert strategy(name).start_point(state) == strategy(name).start_point(state)
        assert strategy(name).brief(state, attempts[2]) == strategy(name).brief(state, attempts[2])


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_every_strategy_stops_at_the_roof_and_on_a_plateau(name: str) -> None:
    flat = [accepted(0, 200.0), *(rejected(step) for step in range(1, 60))]

    assert strategy(name).stop(a_state(accepted(0, 82.0))) == "stopped early: within 5 % of the roofline"
    assert (strategy(name).stop(a_state(*flat)) or "").startswith("no gain in the last")
    assert strategy(name).stop(a_state(*flat[:3])) is None
    assert strategy(name).stop(a_state(*(rejected(step) for step in range(60)))) is None


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_the_branches_of_a_beam_get_start_points_that_exist(name: str) -> None:
    attempts = (accepted(0, 100.0), accepted(1, 120.0), rejected(2, parent=0), accepted(3, 110.0, parent=0))

    for branch in range(4):
        start = strategy(name).start_point(a_state(*attempts, branch=branch, width=4))
        assert start is None or start in attempts
