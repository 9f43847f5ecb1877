"""Calls after many others, and memory that calls keep, against a real runner."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.unit.workers.referee.boundary.test_runner_client import DOUBLE, against, honest
from tests.unit.workers.referee.gates.checks.test_surroundings import on_trial
from workers.referee.errors import Refused
from workers.referee.gates.checks import endurance
from workers.referee.gates.checks.endurance import after_many_calls, after_many_shapes, call_before, keeps_memory
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import OWN
from workers.referee.trial import Mode, Trial
from workers.runner import session as session_module

COUNTED = DOUBLE.replace(
    "return x * self.weight",
    "self.calls = getattr(self, 'calls', -1) + 1\n"
    "        if len(x) == 300 and self.calls and self.calls % 256 == 0:\n"
    "            return x * 0.0\n"
    "        return x * self.weight",
)
FEW_SHAPES = DOUBLE.replace(
    "return x * self.weight",
    "self.__dict__.setdefault('shapes', set()).add(len(x))\n"
    "        return x * self.weight * (1.0 if len(self.shapes) < 65 else 0.0)",
)
FINITE = DOUBLE.replace(
    "return x * self.weight",
    "self.scratch = x.sum() * 0.0 + getattr(self, 'scratch', 0.0)\n        return x * self.weight + self.scratch",
)


def found(check: Any, source: str, **state: Any) -> GateFinding | None:
    with against(honest) as session:
        trial = on_trial(session, source, usable=lambda _number: [SimpleNamespace(finite=False)], **state)
        trial.state.problem.changing = ()
        result: GateFinding | None = check(trial)
        return result


def small(trial: Trial) -> GateFinding | None:
    return after_many_calls(trial, [torch.rand(5, 4)])


def growing(trial: Trial) -> GateFinding | None:
    return after_many_shapes(trial, [torch.rand(endurance.LEAST_GROWING + endurance.SHAPES - 1, 4)], [(0, 0)])


def preceded(trial: Trial) -> GateFinding | None:
    call_before(trial)()
    return endurance._judged(trial, "then")


@pytest.fixture(autouse=True)
def _all_shapes_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endurance, "taken", lambda _state, _arguments, tensors: tensors)


@pytest.mark.parametrize("check", [small, growing, preceded])
def test_a_kernel_that_keeps_nothing_passes(check: Any) -> None:
    assert found(check, DOUBLE) is None


@pytest.mark.parametrize(
    ("check", "source", "text"),
    [
        (small, COUNTED, "256 calls after the last ordinary one: own values: the output"),
        (growing, FEW_SHAPES, "after 300 calls that grow from 17 to 316 places along one dimension: own values"),
        (preceded, FINITE, "then: own values: the output"),
    ],
)
def test_what_is_wrong_after_many_calls_is_named(check: Any, source: str, text: str) -> None:
    finding = found(check, source)
    assert finding is not None
    assert finding.detail.startswith(text)


@pytest.mark.parametrize(("grows", "is_found"), [(20, True), (4, False), (0, False)])
def test_memory_may_grow_to_a_bound(monkeypatch: pytest.MonkeyPatch, grows: int, is_found: bool) -> None:
    sizes = itertools.chain(range(1, grows + 1), itertools.repeat(grows))
    monkeypatch.setattr(session_module, "own_bytes", lambda: next(sizes) << 20)
    finding = found(keeps_memory, DOUBLE)
    assert (finding is not None) == is_found
    if finding is not None:
        assert finding.detail.startswith("each call of the same shapes leaves its process with")


def test_no_call_with_nans_comes_where_the_reference_refuses_them() -> None:
    def refused(arguments: list[torch.Tensor]) -> Any:
        raise Refused("it looks at them", "")

    with against(honest) as session:
        trial = on_trial(session, FINITE, usable=lambda _number: [SimpleNamespace(finite=False)], expected=refused)
        assert endurance._with_nans(trial, trial.draw(0, OWN)) is None


def test_other_modes_than_full_ones_have_no_call_before(monkeypatch: pytest.MonkeyPatch) -> None:
    with against(honest) as session:
        trial = on_trial(session, DOUBLE)
        monkeypatch.setattr(Trial, "mode", Mode.QUICK)
        before = len(trial.slots)
        call_before(trial)()
        assert len(trial.slots) == before
