"""How good the Planner's predictions were."""

from __future__ import annotations

import pytest

from agents.prompts.predictions import describe, mean_error, predictions
from agents.prompts.render import render_user
from services.domain.chat import AgentRole
from tests.unit.agents.search_states import accepted, planned, rejected
from tests.unit.agents.some_facts import some_facts


def test_the_planner_sees_how_good_its_predictions_were() -> None:
    attempts = (
        accepted(0, 100.0),
        planned(accepted(1, 80.0, parent=0), "a", gain=2.5),
        planned(rejected(2, parent=1), "b", gain=3.0),
        planned(accepted(3, 40.0, parent=1), "c", gain=2.0),
    )

    found = predictions(attempts)

    assert [(item.step, item.expected, item.measured) for item in found] == [(1, 2.5, 1.25), (3, 2.0, 2.0)]
    assert mean_error(found) == pytest.approx(0.3466, abs=1e-3)
    assert describe(found).endswith("Off by 41% on average, too high.")
    assert "2.50× expected, 1.25× measured" in render_user(AgentRole.PLANNER, some_facts(attempts=attempts)).content
    assert mean_error(()) is None
