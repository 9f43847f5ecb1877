"""Calls after many others, and memory that calls keep, against a real runner."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.unit.workers.referee.boundary.test_runner_client import DOUBLE, against, honest
from tests.unit.workers.referee.gates.checks.test_surroundings import on_trial
from tests.unit.workers.referee.trials import a_trial
from workers.ipc.tensors import TensorMeta
from workers.referee.errors import Refused
from workers.referee.gates.checks import endurance
from workers.referee.gates.checks.endurance import (
    after_a_small_first_call,
    after_many_calls,
    after_many_shapes,
    call_before,
    keeps_memory,
)
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import OWN
from workers.referee.trial import Mode, Trial
from workers.runner import session as session_module
from workers.runner.step import DENSE, StepPlan

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
SIXTEEN_CALLERS = DOUBLE.replace(
    "import torch\n", "import threading\n\nimport torch\n\nOWN, SEEN = threading.local(), []\n"
).replace(
    "return x * self.weight",
    "if not hasattr(OWN, 'seen'):\n"
    "            OWN.seen = True\n"
    "            SEEN.append(0)\n"
    "        return x * self.weight * (1.0 if len(SEEN) < 17 else 0.0)",
)
BY_ITS_FIRST_CALL = DOUBLE.replace(
    "return x * self.weight",
    "self.most = getattr(self, 'most', max(len(x), 64))\n"
    "        return x * self.weight * (torch.arange(len(x)) < self.most + 200)[:, None]",
)
ONE_SHAPE = DOUBLE.replace(
    "return x * self.weight",
    "self.rows = getattr(self, 'rows', len(x))\n"
    "        assert len(x) == self.rows, 'other rows'\n"
    "        return x * self.weight",
)
KEEPS_STEPS = """
import torch

torch.kept_steps = 0

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2.0 * x

    @staticmethod
    def backward(ctx, gradient):
        torch.kept_steps += GROWS
        return 2.0 * gradient

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return Double.apply(x)
"""
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
    monkeypatch.setattr(endurance, "FIRST_S", float("inf"))


@pytest.mark.parametrize("check", [small, growing, preceded])
def test_a_kernel_that_keeps_nothing_passes(check: Any) -> None:
    assert found(check, DOUBLE) is None


@pytest.mark.parametrize(
    ("check", "source", "text"),
    [
        (small, SIXTEEN_CALLERS, "256 calls after the last ordinary one: own values: the output"),
        (small, COUNTED, "256 calls after the last ordinary one: own values: the output"),
        (growing, FEW_SHAPES, "after 300 calls that grow from 17 to 316 places along one dimension: own values"),
        (preceded, FINITE, "then: own values: the output"),
    ],
)
def test_what_is_wrong_after_many_calls_is_named(check: Any, source: str, text: str) -> None:
    finding = found(check, source)
    assert finding is not None
    assert finding.detail.startswith(text)


def test_slow_calls_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endurance, "FIRST_S", -1.0)
    monkeypatch.setattr(endurance, "ALL_SHAPES", 0.0)
    finding = found(growing, FEW_SHAPES)
    assert finding is not None
    assert finding.detail.startswith("after 100 calls that grow from 17 to 116 places along one dimension: own values")


@pytest.mark.parametrize(("grows", "is_found"), [(20, True), (4, False), (0, False)])
def test_memory_may_grow_to_a_bound(monkeypatch: pytest.MonkeyPatch, grows: int, is_found: bool) -> None:
    sizes = itertools.chain(range(1, grows + 1), itertools.repeat(grows))
    monkeypatch.setattr(session_module, "own_bytes", lambda: next(sizes) << 20)
    finding = found(keeps_memory, DOUBLE)
    assert (finding is not None) == is_found
    if finding is not None:
        assert finding.detail.startswith("each call of the same shapes leaves its process with")


def after_a_first_call(monkeypatch: pytest.MonkeyPatch, source: str) -> tuple[GateFinding | None, list[str]]:
    """What is found in a process whose first call is small."""

    @contextlib.contextmanager
    def another(_trial: Trial) -> Iterator[Trial]:
        with against(honest) as session:
            other = on_trial(session, source)
            other.state.problem.changing = ()
            yield other

    monkeypatch.setattr(Trial, "another", another)
    monkeypatch.setattr(Trial, "load", lambda _trial: True)
    with against(honest) as session:
        trial = on_trial(session, source)
        return after_a_small_first_call(trial, [torch.rand(5, 4)]), trial.notes


def test_what_the_first_call_of_a_process_chooses_does_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert after_a_first_call(monkeypatch, DOUBLE) == (None, [])
    finding, _ = after_a_first_call(monkeypatch, BY_ITS_FIRST_CALL)
    assert finding is not None
    assert finding.detail.startswith("in a process whose first call had the shapes 5×4: own values: the output")
    finding, notes = after_a_first_call(monkeypatch, ONE_SHAPE)
    assert finding is None
    assert [note.partition(":")[0] for note in notes] == ["PROVEN FOR THE SHAPES OF ITS FIRST CALL"]


@pytest.mark.parametrize(("grows", "is_found"), [(1, True), (0, False)])
def test_memory_that_each_step_keeps_is_found(monkeypatch: pytest.MonkeyPatch, grows: int, is_found: bool) -> None:
    monkeypatch.setattr(session_module, "own_bytes", lambda: (1 + torch.kept_steps) << 20)  # type: ignore[attr-defined]
    plan, x = StepPlan(inputs=(0,), parameters=(), outputs=(0,)), torch.rand(300, 4)
    source = KEEPS_STEPS.replace("GROWS", str(grows))
    with against(honest) as session:
        session.call_limit_s = 20.0
        assert session.load(source, [], [], seed=1, copy_state=True, threads=1, limit_s=10.0, step=plan)
        problem = SimpleNamespace(is_step=True, changing=(), forward_arguments=lambda given: given[:1])
        state = SimpleNamespace(
            draw=lambda *_given: [x, x, DENSE], metas=lambda _number: [TensorMeta.of(x)] * 2, mutates=False
        )
        finding = keeps_memory(a_trial(session=session, problem=problem, state=state))
    assert (finding is not None) == is_found
    if finding is not None:
        assert finding.detail.startswith("each step of the same shapes leaves its process with 1024 KiB more")


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


def test_calls_that_write_to_their_arguments_get_them_anew() -> None:
    writer = DOUBLE.replace("return x * self.weight", "return x.add_(1.0) * self.weight")
    with against(honest) as session:
        trial = on_trial(session, writer)
        x = torch.zeros(300, 4)
        slot = trial.slot(0, [x])
        for mutates, left in ((True, 0.0), (False, 3.0)):
            trial.state.mutates = mutates
            slot.write([x])
            endurance._repeated(trial, slot, 3)
            assert float(slot.inputs.tensors[0].max()) == left


def test_steps_of_many_shapes_have_a_backward() -> None:
    plan, x = StepPlan(inputs=(0,), parameters=(), outputs=(0,)), torch.rand(36, 4)
    with against(honest) as session:
        session.call_limit_s = 20.0
        source = KEEPS_STEPS.replace("GROWS", "len(gradient)")
        assert session.load(source, [], [], seed=1, copy_state=True, threads=1, limit_s=10.0, step=plan)
        slot = session.open_slot(1, [x, x, DENSE], [])
        session.repeat(slot, 20, [(0, 0)], 17)
        assert torch.kept_steps == 0  # type: ignore[attr-defined]
        session.repeat(slot, 20, [(0, 0)], 17, with_backward=True)
        assert torch.kept_steps == sum(range(17, 37))  # type: ignore[attr-defined]
        slot.close()
