"""No design of an adversary is accepted with a wrong result or a false figure, and no honest kernel is turned away."""

import pytest

from tests.adversary.designs import ROOT, Design, designs, judged, outcome
from tests.selection import parameters
from workers.evaluation.evaluator import Evaluator

pytestmark = pytest.mark.integration

SELECTED = ROOT / "selected.txt"


@pytest.mark.parametrize("design", parameters(designs("cheats"), lambda one: one.id, SELECTED))
def test_a_cheat_gains_nothing(evaluator: Evaluator, design: Design) -> None:
    found = outcome(design, judged(evaluator, design))
    assert found.right, f"{design.about}: {found.text}"


@pytest.mark.parametrize("design", parameters(designs("honest"), lambda one: one.id, SELECTED))
def test_an_honest_kernel_is_accepted(evaluator: Evaluator, design: Design) -> None:
    found = outcome(design, judged(evaluator, design))
    assert found.right, f"{design.about}: {found.text}"
