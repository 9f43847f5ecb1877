"""Greedy: repair, then descend from the best."""

from __future__ import annotations

import pytest

from agents.strategies.greedy import Greedy
from agents.strategies.registry import strategy
from services.domain.chat import AttemptFact
from services.domain.errors import ConfigurationError
from services.domain.evaluations import Verdict
from services.domain.measurements import Baselines
from services.ports.search import SearchState
from tests.doubles import a_report
from tests.unit.agents.some_facts import an_attempt


def a_state(*attempts: AttemptFact, best: int | None = None) -> SearchState:
    return SearchState(
        attempts=attempts,
        best_candidate_id=None if best is None else attempts[best].candidate_id,
        baselines=Baselines(),
        floor_us=80.0,
        seed=0,
    )


def rejected(step: int, parent: int | None = None) -> AttemptFact:
    return an_attempt(step, a_report(Verdict.REJECTED), parent=parent)


def accepted(step: int, median_us: float) -> AttemptFact:
    return an_attempt(step, a_report(median_us=median_us))


def test_the_first_step_is_a_fresh_draft() -> None:
    assert Greedy().start_point(a_state()) is None


def test_the_latest_failure_is_repaired() -> None:
    state = a_state(rejected(0), rejected(1))

    assert Greedy().start_point(state) == state.attempts[1]


def test_a_step_without_a_candidate_does_not_hide_the_failure_before_it() -> None:
    state = a_state(rejected(0), an_attempt(1, failure="malformed"))

    assert Greedy().start_point(state) == state.attempts[0]


def test_after_repeated_repairs_a_fresh_draft_is_better() -> None:
    state = a_state(rejected(0), rejected(1, parent=0), rejected(2, parent=1))

    assert Greedy(repairs=3).start_point(state) is None
    assert Greedy(repairs=4).start_point(state) == state.attempts[2]


def test_the_best_accepted_candidate_is_refined_whatever_came_after() -> None:
    state = a_state(accepted(0, 100.0), accepted(1, 120.0), rejected(2), best=0)

    assert Greedy().start_point(state) == state.attempts[0]


def test_the_search_goes_on_while_there_is_gain() -> None:
    state = a_state(*(accepted(step, 200.0 * 0.9**step) for step in range(8)), best=7)

    assert Greedy(patience=3).stop(state) is None


def test_a_plateau_ends_the_search() -> None:
    state = a_state(accepted(0, 100.0), rejected(1), accepted(2, 99.5), accepted(3, 101.0), best=2)

    assert Greedy(patience=3).stop(state) == "no gain in the last 3 steps"
    assert Greedy(patience=4).stop(state) is None


def test_failures_before_the_first_success_are_no_plateau() -> None:
    assert Greedy(patience=2).stop(a_state(*(rejected(step) for step in range(9)))) is None


def test_the_roof_ends_the_search() -> None:
    state = a_state(accepted(0, 82.0), best=0)

    assert Greedy().stop(state) == "stopped early: within 5 % of the roofline"


def test_strategies_are_found_by_name() -> None:
    assert strategy("greedy").name == "greedy"
    with pytest.raises(
        ConfigurationError,
        match="unknown strategy 'annealing': choose from greedy, islands, map_elites, tree, value_driven, world_model",
    ):
        strategy("annealing")
