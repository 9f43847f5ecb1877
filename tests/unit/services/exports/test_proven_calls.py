"""What an exported kernel says of calls that it was not proven for."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

from services.domain.measurements import Passes, PassTimes
from services.domain.problems import ProblemAnalysis, TensorForm, TensorSpec
from services.exports.proven_calls import delivered
from services.exports.winner import Winner
from tests.doubles import a_problem, an_analysis
from tests.unit.services.exports.test_exports import a_winner
from workers.referee.problem.reference_problem import ReferenceProblem
from workers.referee.screen.screen import screen

KERNEL = """import torch


class ModelNew(torch.nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x, scale=1.0):
        return x * self.weight * scale
"""
PROBLEM = """class Model(Module):
    def forward(self, x, scale=1.0):
        return x * self.weight * scale


def get_init_inputs():
    return []
"""
X = TensorForm(dtype="float32", rank=2)


def exported(problem: str = PROBLEM, kernel: str = KERNEL, **known: Any) -> Winner:
    analysis: ProblemAnalysis = replace(an_analysis(), **{"calls": ((X, None),), **known})
    winner = a_winner(kernel)
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


NAMED = """class Model(Module):
    def forward(self, logits, labels, eps=0.1, padding=-100, scale=float('inf'), other=UNKNOWN):
        ...


def get_init_inputs():
    return []
"""
ECHO = KERNEL.replace("x, scale=1.0", "a, b, c=9, d=9, e=9, f=9").replace("x * self.weight * scale", "(c, d, e, f)")


@pytest.mark.parametrize(
    ("keywords", "seen"),
    [
        ({}, (0.1, -100, float("inf"), 5)),
        ({"padding": 7}, (0.1, 7, float("inf"), 5)),
        ({"scale": 2.0, "eps": 0.2}, (0.2, -100, 2.0, 5)),
    ],
)
def test_what_a_call_leaves_out_is_the_original_s_default_and_not_the_kernel_s(
    keywords: dict[str, Any], seen: tuple[object, ...]
) -> None:
    model, x = built(exported(NAMED, ECHO, calls=((X, X, None, None, None, None),)))(), torch.ones(3, 4)
    with torch.no_grad():
        assert model(x, labels=x, other=5, **keywords) == seen
        with pytest.raises(TypeError, match="together"):
            model(x, x)  # the last argument's default is not written out
        with pytest.raises(TypeError, match="does not take eps"):
            model(x, eps=0.1)
        with pytest.raises(TypeError, match="does not take a"):
            model(a=x, b=x)


def test_a_call_that_was_judged_without_its_last_arguments_is_made_so() -> None:
    model, x = built(exported(NAMED, ECHO, calls=((X, X),)))(), torch.ones(3, 4)
    with torch.no_grad():
        assert model(x, x) == (9, 9, 9, 9)


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


def test_a_backward_pass_raises_where_none_was_judged() -> None:
    model, x = built(exported())(), torch.ones(3, 4)
    found = model(x)  # a weight's requires_grad is the default of every module
    assert torch.equal(found, x)
    found += 1
    with pytest.raises(RuntimeError, match="no backward"):
        found.sum().backward()
    model.requires_grad_(False)
    assert not model(x).requires_grad
    with pytest.raises(RuntimeError, match="no backward"):
        model(x.requires_grad_()).sum().backward()
    with torch.no_grad():
        assert not model(x).requires_grad


def test_a_backward_pass_raises_through_every_tensor_that_is_returned() -> None:
    kernel = KERNEL.replace("x * self.weight * scale", "{'all': [x, (x[0].view(2, 2), x.argmax()), scale]}")
    model, x = built(exported(kernel=kernel))(), torch.ones(3, 4)
    whole, (part, index), scale = model(x)["all"]
    assert torch.equal(whole, x)
    assert (index.requires_grad, scale) == (False, 1.0)
    for tensor in (whole, part):
        with pytest.raises(RuntimeError, match="no backward"):
            tensor.sum().backward()


def test_gradients_that_were_judged_flow() -> None:
    winner = exported()
    times = PassTimes(forward_us=1.0, forward_ci95_us=(1, 1), backward_us=1.0, backward_ci95_us=(1, 1), both_us=2.0)
    model = built(replace(winner, report=replace(winner.report, passes=Passes(candidate=times))))()
    model(torch.ones(3, 4)).sum().backward()
    gradient = model.get_parameter("weight").grad
    assert gradient is not None
    assert torch.equal(gradient, torch.full((4,), 3.0))


def test_the_tensors_of_a_nested_argument_are_looked_at() -> None:
    form = (X, TensorForm(dtype="int64", rank=1))
    model = built(exported(kernel=KERNEL.replace("x * ", "x[0] * "), calls=((form,),)))()
    x, index = torch.ones(3, 4), torch.arange(3)
    with torch.no_grad():
        assert torch.equal(model((x, [index])), x)
        with pytest.raises(TypeError, match=r"x is \[bfloat16 of rank 2 on cpu, int64 of rank 1 on cpu\]"):
            model([x.bfloat16(), index])
        for other in ([x], x, [x[0], index], [1.0, 2.0]):
            with pytest.raises((TypeError, ValueError), match="was proven for x"):
                model(other)


def test_the_tensors_of_a_dataclass_are_looked_at() -> None:
    @dataclass
    class Pair:
        x: torch.Tensor
        scale: float

    problem = PROBLEM + "# its argument is a dataclass\n"
    model = built(exported(problem, kernel=KERNEL.replace("x * ", "x.x * "), calls=(((X,),),)))()
    with torch.no_grad():
        assert torch.equal(model(Pair(torch.ones(3, 4), 1.0)), torch.ones(3, 4))
        with pytest.raises(TypeError, match="float64"):
            model(Pair(torch.ones(3, 4).double(), 1.0))


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


def test_the_screen_reads_the_kernel_below_what_is_added() -> None:
    forbidden = KERNEL.replace("return x", "return torch.softmax(x, 0)")
    winner = exported(kernel=forbidden)
    told = screen(delivered(winner), frozenset())
    assert any("softmax" in remark.text and remark.hard for remark in told)
    assert told == screen(forbidden, frozenset())


def test_an_exported_kernel_can_be_exported_again() -> None:
    once = delivered(exported())
    model = built(exported(kernel=once))()
    with torch.no_grad():
        assert torch.equal(model(torch.ones(3, 4)), torch.ones(3, 4))
        with pytest.raises(TypeError, match="float64"):
            model(torch.ones(3, 4).double())


def test_the_referee_tells_the_calls_of_all_input_sets() -> None:
    source = (
        "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x, n):\n        return x * n\n"
        "def get_inputs():\n    return [torch.randn(2, 3), 2]\n"
        "INPUT_SETS = [lambda: [torch.randn(4, 3), 2]]\nHELD_OUT = [lambda: [torch.randn(3).half(), 2]]\n"
    )
    assert ReferenceProblem(a_problem(source)).calls() == ((X, None), (TensorForm(dtype="float16", rank=1), None))
