"""Steps whose graph is used otherwise than usual, and many that are open at once, against a real runner."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.unit.workers.referee.boundary.test_runner_client import against, honest
from tests.unit.workers.referee.trials import a_reference, a_trial
from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, tolerances
from workers.referee.gates.checks.graph_uses import used_otherwise
from workers.referee.gates.checks.instances import interleaved_steps
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.constraints import Limits
from workers.runner.step import DENSE, GraphUse, ModelStep, StepPlan

PLAN = StepPlan(inputs=(0, 1), parameters=("weight",), outputs=(0,))
PRODUCT = """
import torch

KEPT = []


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, weight):
        ctx.save_for_backward(x, weight)
        return x * weight + y

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad * weight, grad.clone(), (grad * x).sum(0)


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(features))

    def forward(self, x, y):
        return Product.apply(x, y, self.weight)
"""


def but(*changes: tuple[str, str]) -> str:
    """The product with something else in it."""
    source = PRODUCT
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    return source


SUM, CALL, SAVE = "return x * weight + y", "return Product", "ctx.save_for_backward"
WRONG_ALONE = but(("(grad * x).sum(0)", "(grad * x).sum(0) * ctx.needs_input_grad[0]"))
NOT_A_NUMBER = but(("return grad * weight", "return grad / grad.abs().max() * grad.abs().max() * weight"))
BY_ITS_OUTPUT = but(
    (SUM, "ctx.y = (x * weight + y).detach()\n        return ctx.y"), ("grad.clone()", "grad + 0 * ctx.y")
)
OVER_ITS_ARGUMENT = but(
    (SUM, "ctx.is_made = not y.is_leaf\n        ctx.y = y\n        return x * weight + y"),
    ("grad.clone()", "ctx.y.detach().copy_(grad) if ctx.is_made else grad.clone()"),
)
NO_INFERENCE = but((CALL, "assert torch.is_grad_enabled(), 'in training only'\n        return Product"))
WRONG_INFERENCE = but((CALL, "if not torch.is_grad_enabled():\n            return x.clone()\n        return Product"))
TWICE = but(
    (SUM, "ctx.same = x.data_ptr() == y.data_ptr()\n        return x * weight + y"),
    ("grad.clone()", "grad * (2 if ctx.same else 1)"),
)
OTHERWISE_WHEN_ADDED = but(("grad.clone()", "grad * (1.0 if x.grad is None else 2.0)"))
RING = but(
    (SAVE, "KEPT.append(x)\n        del KEPT[:-8]\n        ctx.save_for_backward"), ("(grad * x)", "(grad * KEPT[0])")
)
HELD = but(
    (SAVE, "ctx.dx = torch.empty_like(x)\n        ctx.save_for_backward"),
    ("return grad * weight", "return torch.mul(grad, weight, out=ctx.dx)"),
)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(1.0, 5.0))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * self.weight + y


def drawn(*_given: Any) -> list[Any]:
    return [torch.randn(30, 4), torch.randn(30, 4), torch.randn(30, 4), DENSE]


def examined(
    source: str, check: Callable[[Any], GateFinding | None] = used_otherwise, **state: Any
) -> tuple[str | None, list[str]]:
    step = ModelStep(Model(), PLAN)

    def expected(arguments: list[Any], use: GraphUse | None = None) -> Answer:
        return Answer.of(step(*arguments) if use is None else step.used(use, *arguments))

    with against(honest) as session:
        session.call_limit_s = 20.0
        weight = [("weight", torch.arange(1.0, 5.0))]
        assert session.load(source, [4], weight, seed=1, copy_state=True, threads=1, limit_s=10.0, step=PLAN)
        problem = SimpleNamespace(
            tolerances=tolerances(None),
            gradient_names=("`x`", "`y`", "the parameter `weight`"),
            is_step=True,
            step_plan=PLAN,
            limits=Limits(),
            changing=(),
            forward_arguments=PLAN.forward_arguments,
            with_cotangents=lambda forward: [*forward, torch.randn(30, 4), DENSE],
        )
        known = {
            "aliases": frozenset(),
            "shares": frozenset(),
            "mutates": frozenset(),
            "chooses": False,
            "knows_ties": True,
            "scales": lambda *_given: (ErrorScale(),) * 4,
            "scales_on": lambda *_given, **_more: (ErrorScale(),) * 4,
            "with_line_errors": lambda scales, *_given: scales,
            "otherwise_rounded": lambda *_given: [],
            "is_ill_conditioned": lambda *_given: False,
            "other_choices": lambda *_given: [],
            "overwritable": lambda *_given: ((1,), (0,)),
            "expected": expected,
            "draw": drawn,
            "metas": lambda _number: [TensorMeta.of(one) for one in flatten(step(*drawn()))],
        }
        trial = a_trial(session=session, problem=problem, state=a_reference(**{**known, **state}))
        finding = check(trial)
        return None if finding is None else finding.detail, trial.notes


def test_a_kernel_that_does_as_pytorch_does_passes() -> None:
    assert examined(PRODUCT) == (None, [])
    assert examined(PRODUCT, interleaved_steps) == (None, [])


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (WRONG_ALONE, "a step in which the parameter `weight` alone requires a gradient: the gradient of"),
        (NOT_A_NUMBER, "a step whose cotangents are zeros: the gradient of `x` is not finite"),
        (BY_ITS_OUTPUT, "a step of which output 0 is overwritten before backward: the gradient of `y`"),
        (OVER_ITS_ARGUMENT, "a step whose arguments others read later: input 1 was changed by the call"),
        (WRONG_INFERENCE, "a forward without gradients: the output"),
        (
            OTHERWISE_WHEN_ADDED,
            "two steps by .backward(), which add up in .grad of the same leaves: the gradient of `y`",
        ),
        (TWICE, "a step with one tensor given twice: the gradient of `x`"),
    ],
)
def test_a_kernel_that_is_wrong_where_its_graph_is_used_otherwise_is_found(source: str, found: str) -> None:
    detail, _ = examined(source)
    assert detail is not None
    assert detail.startswith(found)


def test_a_kernel_may_refuse_a_use_and_the_report_says_so() -> None:
    finding, notes = examined(NO_INFERENCE)
    assert finding is None
    assert len(notes) == 1
    assert notes[0].startswith("PROVEN FOR USUAL STEPS: it refused a forward without gradients with candidate line")


def test_what_the_reference_s_graph_needs_is_not_overwritten() -> None:
    assert examined(BY_ITS_OUTPUT, overwritable=lambda *_given: ((), ())) == (None, [])


def test_a_kernel_whose_graphs_share_eight_buffers_is_found() -> None:
    detail, _ = examined(RING, interleaved_steps)
    assert detail is not None
    assert "whose forward passes come before all backward passes: the gradient of the parameter" in detail


def test_one_memory_for_all_gradients_of_a_graph_is_a_remark() -> None:
    finding, notes = examined(HELD, interleaved_steps)
    assert finding is None
    assert [note.partition(":")[0] for note in notes] == ["PROVEN FOR GRADIENTS NOT HELD"]
