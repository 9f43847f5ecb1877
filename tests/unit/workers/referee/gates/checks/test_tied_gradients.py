"""Steps at zeros, equal values and minute ones, against a real runner."""

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
from workers.referee.gates.checks import tied_gradients
from workers.referee.gates.checks.tied_gradients import at_ties
from workers.referee.inputs.constraints import Limits
from workers.referee.inputs.distributions import MINUTE, Distribution, drawn
from workers.runner.step import DENSE, ModelStep, StepPlan

PLAN = StepPlan(inputs=(0,), parameters=(), outputs=(0,))
LARGEST = """
import torch

class Largest(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.amax(dim=-1)
        ctx.save_for_backward(x, y.clone())
        return y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        here = (x == y.unsqueeze(-1)).float()
        return GRADIENT

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return Largest.apply(x)
"""
EVENLY = LARGEST.replace("GRADIENT", "here / here.sum(-1, keepdim=True) * grad.unsqueeze(-1)")
LAST = LARGEST.replace("GRADIENT", "here * (here.flip(-1).cumsum(-1).flip(-1) == 1).float() * grad.unsqueeze(-1)")
EACH = LARGEST.replace("GRADIENT", "here * grad.unsqueeze(-1)")
NO_NUMBER = LARGEST.replace("GRADIENT", "here / here.sum(-1, keepdim=True) * grad.unsqueeze(-1) * x / x")
ZERO_FOR_MINUTE = EVENLY.replace("return y\n", "return y * (x.abs().amax() > 1e-6)\n")


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.max(dim=-1).values


def examined(source: str, **changes: Any) -> str | None:
    step, x = ModelStep(Model(), PLAN), torch.randn(64, 6)
    cotangent = torch.randn(64)
    own = [x, cotangent, DENSE]
    with against(honest) as session:
        session.call_limit_s = 20.0
        assert session.load(source, [], [], seed=1, copy_state=True, threads=1, limit_s=10.0, step=PLAN)
        problem = SimpleNamespace(
            tolerances=tolerances(None),
            gradient_names=("`x`",),
            is_step=True,
            limits=Limits(),
            forward_arguments=PLAN.forward_arguments,
            run_double=lambda given: list(Answer.of(step(given[0].double(), given[1].double(), DENSE)).tensors),
        )

        def changed(arguments: list[Any], kind: Distribution) -> list[Any]:
            return [*drawn(arguments[:1], kind), *arguments[1:]]

        known = {
            "aliases": frozenset(),
            "shares": frozenset(),
            "mutates": False,
            "chooses": False,
            "takes_ties_forward": True,
            "minute_forward": MINUTE[:1],
            "first_gradient": 1,
            "changed": changed,
            "draw": lambda _number, kind: changed(own, kind),
            "expected": lambda arguments: Answer.of(step(*arguments)),
            "forward_scales": lambda *_given: (ErrorScale(),) * 2,
            "metas": lambda _number: [TensorMeta.of(cotangent), TensorMeta.of(x)],
            "otherwise_rounded": lambda *_given: [],
            "other_choices": lambda *_given: [],
        }
        state = a_reference(**{**known, **changes})
        finding = at_ties(a_trial(session=session, problem=problem, state=state))
        return None if finding is None else finding.detail


@pytest.mark.parametrize("source", [EVENLY, LAST])
def test_a_gradient_may_go_to_whichever_of_equal_values_a_kernel_likes(source: str) -> None:
    assert examined(source) is None


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (EACH, "degenerate values: the gradient of `x` adds up to"),
        (NO_NUMBER, "degenerate values: the gradient of `x` is not finite where expected"),
        (ZERO_FOR_MINUTE, "minute values: the output"),
    ],
)
def test_what_is_the_same_for_every_choice_is_judged(source: str, found: str) -> None:
    detail = examined(source)
    assert detail is not None
    assert detail.startswith(found)


def test_nothing_is_judged_where_the_reference_is_not_exact_or_ties_mean_anything() -> None:
    assert examined(EACH, forward_scales=lambda *_given: None) is None
    assert examined(EACH, takes_ties_forward=False) is None


def test_a_sum_along_a_dimension_tells_only_where_all_sums_stay_the_same() -> None:
    near = [torch.eye(3, dtype=torch.float64), torch.eye(3, dtype=torch.float64).flip(0)]
    wrong = tied_gradients._wrong_sum("`x`", 2 * torch.eye(3), torch.eye(3), near)
    assert wrong.startswith("the gradient of `x` adds up to 2 along dimension 0, expected 1")
    other = [near[0], torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 1, 0]], dtype=torch.float64)]
    found = torch.tensor([[1.0, 0, 0], [1, 0, 0], [1, 0, 0]])
    assert tied_gradients._wrong_sum("`x`", found, torch.eye(3), other) == ""


def test_a_gradient_beside_a_pole_is_not_judged() -> None:
    one, pole = torch.ones(3), torch.tensor([1.0, 1.0, 1e9], dtype=torch.float64)
    assert tied_gradients._is_regular(one, [one.double()])
    assert not tied_gradients._is_regular(one, [pole])
    assert not tied_gradients._is_regular(one / 0, [one.double()])
    assert not tied_gradients._is_regular(one, [])


def test_equal_values_are_moved_apart_one_way_and_the_other() -> None:
    up, down = tied_gradients._moved([torch.ones(9), torch.arange(3)])
    assert up[0].unique().numel() == 9
    assert torch.allclose(up[0] - 1, 1 - down[0])
    assert torch.equal(up[1], torch.arange(3))
