"""What an exported kernel says of calls that it was not proven for."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from services.domain.problems import ProblemAnalysis, TensorForm, TensorSpec
from services.exports.proven_calls import delivered
from services.exports.winner import Winner
from services.testing import a_problem, an_analysis
from tests.unit.services.test_export_formats import a_winner
from workers.referee.problem.reference_problem import ReferenceProblem
from workers.referee.screening.screen import screen

KERNEL = """import torch


class ModelNew(torch.nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x, scale=1.0):
        return x * self.weight * scale
"""
PROBLEM = "def get_init_inputs():\n    return []\n"
X = TensorForm(dtype="float32", rank=2)


def exported(problem: str = PROBLEM, **known: Any) -> Winner:
    analysis: ProblemAnalysis = replace(an_analysis(), **{"calls": ((X, None),), **known})
    winner = a_winner(KERNEL)
    spec = replace(winner.job.spec, problem=a_problem(problem))
    return replace(winner, job=replace(winner.job, spec=spec, analysis=analysis))


def built(winner: Winner) -> Callable[..., torch.nn.Module]:
    scope: dict[str, Any] = {"__name__": "kernel"}
    exec(delivered(winner), scope)
    made: Callable[..., torch.nn.Module] = scope["ModelNew"]
    return made


def test_a_proven_call_runs_by_position_by_name_and_without_what_has_a_default() -> None:
    model, x = built(exported())(), torch.ones(3, 4)
    with torch.no_grad():
        for got in (model(x, 1.0), model(x), model(x=x), model(x, scale=1.0)):
            assert torch.equal(got, x)


@pytest.mark.parametrize(
    ("x", "error", "text"),
    [
        (torch.ones(3, 4).bfloat16(), TypeError, r"for x: float32 of rank 2 on cpu; x is bfloat16 of rank 2 on cpu"),
        (torch.ones(4), ValueError, "x is float32 of rank 1 on cpu"),
        (torch.ones(3, 4, device="meta"), ValueError, "x is float32 of rank 2 on meta"),
        (torch.ones(0, 4), ValueError, "x is float32 without elements of rank 2"),
        ([1.0], TypeError, "x is list"),
    ],
)
def test_another_call_raises_with_the_reason(x: Any, error: type[Exception], text: str) -> None:
    with torch.no_grad(), pytest.raises(error, match=text):
        built(exported())()(x)


def test_every_judged_form_of_a_call_is_proven_and_no_mixture_of_them() -> None:
    half = TensorForm(dtype="float16", rank=1)
    model = built(exported(calls=((X, X), (half, half))))()
    with torch.no_grad():
        model(torch.ones(3, 4), torch.ones(3, 4))
        model(torch.ones(4).half(), torch.ones(4).half())
        with pytest.raises(TypeError, match="together"):
            model(torch.ones(3, 4), torch.ones(4).half())


def test_wanted_gradients_raise_where_no_backward_was_judged() -> None:
    model = built(exported())()
    with pytest.raises(ValueError, match="no backward"):
        model(torch.ones(3, 4))
    model.requires_grad_(False)
    model(torch.ones(3, 4))
    with pytest.raises(ValueError, match="no backward"):
        model(torch.ones(3, 4, requires_grad=True))


def test_weights_of_another_dtype_raise_in_a_copy_too() -> None:
    model, x = built(exported())(), torch.ones(3, 4)
    other = copy.deepcopy(model).bfloat16()
    with torch.no_grad(), pytest.raises(TypeError, match=r"weight: float32 on cpu; it is bfloat16"):
        other(x)
    with torch.no_grad():
        model(x)


def test_another_default_dtype_raises() -> None:
    model = built(exported())()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad(), pytest.raises(TypeError, match="default dtype"):
            model(torch.ones(3, 4, dtype=torch.float32))
    finally:
        torch.set_default_dtype(torch.float32)


def test_constructor_arguments_are_those_that_were_judged() -> None:
    made = built(exported(init_inputs=(64, (1, 2), float("inf"))))
    made(64, [1, 2], eps=float("inf"))
    with pytest.raises(ValueError, match="constructor"):
        made(32, [1, 2], float("inf"))
    with pytest.raises(ValueError, match="constructor"):
        built(exported())(2.0)
    built(exported("def get_init_inputs():\n    return [object()]\n"))(object())


def test_an_analysis_from_before_calls_were_recorded_gives_that_of_the_traced_call() -> None:
    spec = TensorSpec(name="x", shape=(3, 4), dtype="float32")
    model = built(exported(calls=(), inputs=(spec,), scalar_inputs=((1, 2.0),)))()
    with torch.no_grad():
        model(torch.ones(3, 4), 2.0)
        with pytest.raises(ValueError, match="rank 1"):
            model(torch.ones(4), 2.0)


def test_the_screen_has_nothing_to_say_of_what_is_added() -> None:
    winner = exported()
    assert screen(delivered(winner), frozenset()) == screen(winner.source, frozenset())


def test_the_referee_tells_the_calls_of_all_input_sets() -> None:
    source = (
        "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x, n):\n        return x * n\n"
        "def get_inputs():\n    return [torch.randn(2, 3), 2]\n"
        "INPUT_SETS = [lambda: [torch.randn(4, 3), 2]]\nHELD_OUT = [lambda: [torch.randn(3).half(), 2]]\n"
    )
    assert ReferenceProblem(a_problem(source)).calls() == ((X, None), (TensorForm(dtype="float16", rank=1), None))
