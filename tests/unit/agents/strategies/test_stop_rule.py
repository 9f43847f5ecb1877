"""When a search stops."""

from __future__ import annotations

from agents.strategies.stop_rule import StopRule
from tests.unit.agents.search_states import a_state, accepted


def test_a_plateau_of_a_beam_takes_as_many_rounds_as_without() -> None:
    attempts = (accepted(0, 100.0), *(accepted(step, 100.0) for step in range(1, 5)))
    rule = StopRule(patience=3)

    assert rule.reason(a_state(*attempts)) == "no gain in the last 3 steps"
    assert rule.reason(a_state(*attempts, width=2)) is None
