"""Calls as any caller makes them, against a real runner."""

from __future__ import annotations

import pytest
import torch

from tests.unit.workers.referee.boundary.test_runner_client import DOUBLE, against, honest
from tests.unit.workers.referee.gates.checks.test_surroundings import on_trial
from workers.referee.gates.checks.calls import try_draw
from workers.referee.inputs.distributions import OWN
from workers.runner.protocol import Manner

CALLS = 24
"""The chance that none of them is in a certain manner is less than one in a thousand."""
TOLD_BY = {
    Manner.GRADIENTS: "torch.is_grad_enabled()",
    Manner.OWN_MEMORY: "x.untyped_storage().nbytes() == x.nbytes",
    Manner.REQUIRED: "x.requires_grad",
    Manner.SETTINGS: "torch.initial_seed() == 67280421310721",
    Manner.GARBAGE: "bool(torch.empty(4096).abs().gt(1e38).all())",
}


def tried(source: str) -> tuple[str | None, list[str]]:
    with against(honest) as session:
        trial = on_trial(session, source)
        for _ in range(CALLS):
            finding = try_draw(trial, 0, OWN, [torch.rand(300, 4)], observe=False)
            if finding is not None:
                return finding.detail, trial.notes
        return None, trial.notes


def test_a_kernel_that_takes_no_notice_passes_without_a_remark() -> None:
    assert tried(DOUBLE) == (None, [])


@pytest.mark.parametrize("manner", TOLD_BY, ids=str)
def test_a_kernel_that_is_wrong_in_one_manner_is_found(manner: Manner) -> None:
    found, _ = tried(DOUBLE.replace("* self.weight", f"* self.weight * (0.0 if {TOLD_BY[manner]} else 1.0)"))
    assert found is not None
    assert found.startswith("own values: the output")
    assert "(a call " in found


@pytest.mark.parametrize("manner", TOLD_BY, ids=str)
def test_a_kernel_that_is_right_in_one_manner_only_is_found(manner: Manner) -> None:
    found, _ = tried(DOUBLE.replace("* self.weight", f"* self.weight * (1.0 if {TOLD_BY[manner]} else 0.0)"))
    assert found is not None


def test_a_kernel_may_refuse_gradients_and_is_judged_without() -> None:
    refusing = DOUBLE.replace("return x", "assert not torch.is_grad_enabled(), 'inference only'\n        return x")
    found, notes = tried(refusing)
    assert found is None
    assert len(notes) == 1
    assert "gradients recorded" in notes[0]
    assert "inference only" in notes[0]


def test_the_name_of_a_module_is_no_ones_to_know() -> None:
    asking = DOUBLE.replace(
        "return x", "assert __name__ != 'candidate' and 'kernelwright' not in __file__\n        return x"
    )
    assert tried(asking) == (None, [])
