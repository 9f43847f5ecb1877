"""Outputs that are held beside others that are not their caller's, against a real runner."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.unit.workers.referee.boundary.test_runner_client import against, honest
from tests.unit.workers.referee.trials import a_reference, a_trial
from workers.ipc.tensors import TensorMeta
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, tolerances
from workers.referee.gates.checks.calls import try_draw
from workers.referee.gates.checks.output_lifetime import called_on, changed_later
from workers.referee.inputs.distributions import OWN
from workers.runner.protocol import Manner

SMOOTHED = """
import torch

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = [torch.empty(40, 8) for _ in range(COUNT)]
        self.calls = 0

    def forward(self, x, mean):
        mean.mul_(0.5).add_(x)
        self.calls += 1
        y = self.kept[self.calls % COUNT] if COUNT else torch.empty_like(x)
        return RETURNED
"""


def expected(arguments: list[Any], *, returns_mean: bool) -> Answer:
    x, mean = arguments
    left = mean * 0.5 + x
    answer = Answer.of((x - left, left) if returns_mean else x - left)
    return Answer(tensors=answer.tensors, shape=answer.shape, inputs=[x, left])


@pytest.mark.parametrize("returns_mean", [False, True])
@pytest.mark.parametrize("count", [0, 1, 9])
def test_an_output_in_memory_of_its_own_is_held_whatever_else_a_call_changes(count: int, *, returns_mean: bool) -> None:
    metas = [TensorMeta(dtype="float32", shape=(40, 8))] * (1 + returns_mean)
    returned = "torch.sub(x, mean, out=y)" + ", mean" * returns_mean
    problem = SimpleNamespace(tolerances=tolerances(None), gradient_names=(), is_step=False)
    state = a_reference(
        aliases=frozenset([(1, 1)] if returns_mean else []),
        shares=frozenset(),
        mutates=True,
        scales=lambda *_given: (ErrorScale(),) * len(metas),
        scales_on=lambda *_given, **_more: None,
        with_line_errors=lambda scales, *_given: scales,
        otherwise_rounded=lambda *_given: [],
        expected=lambda arguments: expected(arguments, returns_mean=returns_mean),
        draw=lambda *_given: [torch.randn(40, 8), torch.randn(40, 8)],
        metas=lambda _number: metas,
    )
    with against(honest) as session:
        source = SMOOTHED.replace("COUNT", str(count)).replace("RETURNED", returned)
        assert session.load(source, [], [], seed=1, copy_state=True, threads=1, limit_s=10.0)
        trial = a_trial(session=session, problem=problem, state=state)
        trial.manners = Manner.USUAL
        assert try_draw(trial, 0, OWN, trial.draw(0, OWN), observe=False, hold=True) is None
        assert called_on(trial) is None
        for _ in range(2):
            assert try_draw(trial, 0, OWN, trial.draw(0, OWN), observe=False) is None
        finding = changed_later(trial)
    assert (finding is None) is (count == 0)
    if finding is not None:
        assert finding.detail.startswith("what an early call returned, read after later ones: ")
