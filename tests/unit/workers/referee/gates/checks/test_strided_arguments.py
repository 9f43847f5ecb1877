"""What the report says of arguments that are not dense, and of dense ones where views are announced."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import torch

from tests.unit.workers.referee.boundary.test_runner_client import DOUBLE, against, honest
from tests.unit.workers.referee.gates.checks.test_surroundings import on_trial
from tests.unit.workers.referee.trials import a_reference, a_trial
from workers.ipc.tensors import TensorMeta
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, tolerances
from workers.referee.gates.checks.strided_arguments import on_strided
from workers.referee.inputs.constraints import Limits
from workers.runner.step import DENSE, StepPlan

IN_MEMORY = DOUBLE.replace("return x", "x = x.as_strided(x.shape, (1, x.shape[0]))\n        return x")
OF_THE_FIRST = DOUBLE.replace("return x", "return x[:1].expand_as(x)")
REFUSES = DOUBLE.replace("return x", "assert not x.is_contiguous(), 'a view'\n        return x")
STEP = """
import torch

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return MADE

    @staticmethod
    def backward(ctx, gradient):
        return 2.0 * gradient

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return Double.apply(x)
"""
ONLY = "PROVEN FOR THE ANNOUNCED STRIDES ONLY"


def turned() -> torch.Tensor:
    return torch.rand(4, 300).T


def expanded() -> torch.Tensor:
    return torch.rand(1, 4).expand(300, 4)


def notes(source: str, draw: Callable[[], torch.Tensor]) -> list[str]:
    with against(honest) as session:
        trial = on_trial(session, source, draw=lambda *_given: [draw()], known_scales=lambda _kind: (ErrorScale(),))
        return on_strided(trial)


def test_a_kernel_that_reads_strides_passes() -> None:
    assert notes(DOUBLE, turned)[0] == "passed on dense tensors in place of views"
    assert notes(DOUBLE, expanded)[:2] == [
        "passed on dense tensors in place of views",
        "passed on other values in repeated parts",
    ]


def test_nothing_is_said_of_views_where_none_is_announced() -> None:
    assert notes(DOUBLE, lambda: torch.rand(300, 4)) == ["passed on arguments that are not dense"]


def test_a_kernel_for_announced_strides_is_named() -> None:
    assert notes(IN_MEMORY, turned)[0].startswith(ONLY)
    assert notes(OF_THE_FIRST, expanded)[0].startswith(ONLY)


def test_a_kernel_may_refuse_dense_tensors() -> None:
    assert notes(REFUSES, turned)[0].startswith("limited: dense tensors in place of views are refused with")


def test_a_step_that_reads_views_by_their_memory_is_named() -> None:
    plan, x = StepPlan(inputs=(0,), parameters=(), outputs=(0,)), torch.rand(30, 4)
    for made, said in (("2.0 * x", "passed on"), ("2.0 * x.as_strided(x.shape, (4, 1))", "PROVEN FOR DENSE")):
        with against(honest) as session:
            session.call_limit_s = 20.0
            source = STEP.replace("MADE", made)
            assert session.load(source, [], [], seed=1, copy_state=True, threads=1, limit_s=10.0, step=plan)
            problem = SimpleNamespace(
                is_step=True,
                limits=Limits(),
                gradient_names=("`x`",),
                tolerances=tolerances(None),
                forward_arguments=plan.forward_arguments,
            )
            state = a_reference(
                draw=lambda *_given: [x, x + 1, DENSE],
                expected=lambda arguments: Answer.of((2.0 * arguments[0], (2.0 * arguments[1],))),
                metas=lambda _number: [TensorMeta.of(x)] * 2,
                scales=lambda *_given: (ErrorScale(),) * 2,
                scales_on=lambda *_given, **_more: (ErrorScale(),) * 2,
                with_line_errors=lambda scales, *_given: scales,
                otherwise_rounded=lambda *_given: [],
                other_choices=lambda *_given: [],
                mutates=False,
                chooses=False,
                aliases=frozenset({(1, 1)}),
                shares=frozenset(),
            )
            (note,) = on_strided(a_trial(session=session, problem=problem, state=state))
        assert note.startswith(said)
