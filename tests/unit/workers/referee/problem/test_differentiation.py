"""Problems with a backward pass in the referee: what is differentiated or refused, what a step gives and costs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from services.domain.codec import from_data, to_data
from services.domain.problems import Problem
from workers.referee.errors import Refused
from workers.referee.inputs.distributions import EXPANDED_COTANGENTS, OWN, TURNED_COTANGENTS
from workers.referee.problem.reference_problem import ReferenceProblem, output_tensors
from workers.referee.validation import examine
from workers.runner.step import DENSE, EXPANDED, TURNED, ModelStep, StepError, StepPlan, laid_out, matched

HEAD = "import torch\nfrom torch import nn\n\n\n"
SCALED = (
    HEAD
    + """class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, features))
        self.idle = nn.Parameter(torch.ones(3))

    def forward(self, x, labels, y):
        return x * self.weight + y.exp(), labels + 1


def get_inputs():
    return [torch.randn(6, 8), torch.randint(0, 9, (6,)), torch.randn(6, 8)]


def get_init_inputs():
    return [8]


BACKWARD = True
"""
)


def loaded(source: str) -> ReferenceProblem:
    return ReferenceProblem(Problem(name="p", source=source))


def module(forward: str, inputs: str, *, parameter: str = "", tail: str = "BACKWARD = True\n") -> str:
    return (
        HEAD
        + f"class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n{parameter}\n"
        + f"    def forward(self, x):\n        {forward}\n\n\n"
        + f"def get_inputs():\n    return [{inputs}]\n\n\ndef get_init_inputs():\n    return []\n\n\n{tail}"
    )


def test_floating_point_inputs_and_parameters_that_an_output_depends_on_are_differentiated() -> None:
    problem = loaded(SCALED)
    assert problem.step_plan == StepPlan(inputs=(0, 2), parameters=("weight",), outputs=(0,))
    assert problem.gradient_names == ("`x`", "`y`", "the parameter `weight`")


def test_the_documented_problem_and_the_examples_load() -> None:
    page = Path("docs/backward.md").read_text()
    documented = re.findall(r"^```python\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)[0]
    assert loaded(documented).gradient_names == ("`x`", "the parameter `weight`")
    named = {path.stem: loaded(path.read_text()).gradient_names for path in Path("examples/training").glob("*.py")}
    assert named == {
        "cross_entropy": ("`logits`",),
        "layernorm": ("`x`", "the parameter `norm.weight`", "the parameter `norm.bias`"),
        "rmsnorm": ("`x`", "the parameter `weight`"),
        "rope": ("`q`", "`k`"),
        "swiglu": ("`x`",),
    }


def test_marked_inputs_are_differentiated_and_no_others() -> None:
    problem = loaded(SCALED.replace("torch.randn(6, 8)]", "torch.randn(6, 8, requires_grad=True)]"))
    assert problem.step_plan == StepPlan(inputs=(2,), parameters=("weight",), outputs=(0,))
    assert not any(tensor.requires_grad for tensor in output_tensors(problem.make_inputs(0, 1)))


def test_a_marked_input_asks_for_gradients_by_itself_unless_the_problem_says_no() -> None:
    marked = SCALED.replace("torch.randn(6, 8)]", "torch.randn(6, 8, requires_grad=True)]")
    assert loaded(marked.replace("BACKWARD = True\n", "")).step is not None
    assert loaded(marked.replace("BACKWARD = True\n", "BACKWARD = False\n")).step is None
    assert loaded(SCALED.replace("BACKWARD = True\n", "")).step is None


def test_a_step_gives_outputs_and_gradients_and_leaves_nothing_behind() -> None:
    problem = loaded(SCALED)
    x, labels, y, cotangent, layout = problem.make_inputs(0, 5)
    (value, more), gradients = problem.run([x, labels, y, cotangent, layout])
    weight = problem.model.get_parameter("weight").detach()
    torch.testing.assert_close(value, x * weight + y.exp())
    torch.testing.assert_close(more, labels + 1)
    for got, expected in zip(gradients, (cotangent * weight, cotangent * y.exp(), (cotangent * x).sum(0)), strict=True):
        torch.testing.assert_close(got, expected)
    assert not value.requires_grad
    assert all(parameter.grad is None for parameter in problem.model.parameters())


def test_a_step_runs_in_float64_as_a_forward_does() -> None:
    problem = loaded(SCALED)
    arguments = problem.make_inputs(0, 5)
    exact = output_tensors(problem.run_double(arguments))
    assert [tensor.dtype for tensor in exact] == [torch.float64, torch.int64, *[torch.float64] * 3]
    for own, other in zip(output_tensors(problem.run(arguments)), exact, strict=True):
        torch.testing.assert_close(own.double(), other.double(), rtol=1e-5, atol=1e-5)


def test_the_forward_alone_hands_over_as_many_bytes() -> None:
    problem = loaded(SCALED)
    arguments = problem.make_inputs(0, 5)
    both = output_tensors(problem.run(arguments))
    alone = output_tensors(problem.run_first_pass(arguments))
    assert [tensor.shape for tensor in alone] == [tensor.shape for tensor in both]
    assert torch.equal(alone[0], both[0])
    assert torch.equal(alone[2], arguments[0])


def test_cotangents_follow_the_seed_and_are_neither_ones_nor_constant() -> None:
    problem = loaded(SCALED)
    first, again, other = (problem.make_inputs(0, seed)[3] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.std() > 0.5


def test_the_cotangent_of_a_single_number_is_neither_one_nor_close_to_zero() -> None:
    problem = loaded(module("return x.square().mean()", "torch.randn(50)"))
    drawn = [float(problem.make_inputs(0, seed)[1]) for seed in range(40)]
    assert all(0.5 <= abs(value) <= 1.5 for value in drawn)
    assert min(drawn) < 0 < max(drawn)
    assert len(set(drawn)) == 40


def test_layouts_keep_shapes_and_change_what_lies_where() -> None:
    for shape in ((6, 8), (3, 4, 5), (7,)):
        cotangent = torch.randn(shape)
        turned, expanded = laid_out(cotangent, TURNED), laid_out(cotangent, EXPANDED)
        assert laid_out(cotangent, DENSE) is cotangent
        assert torch.equal(turned, cotangent)
        assert not turned.is_contiguous()
        assert expanded.shape == cotangent.shape
        assert expanded.stride(0) == 0
    assert laid_out(torch.tensor(2.0), TURNED) == 2.0


def test_draws_with_other_layouts_say_so_in_the_last_argument() -> None:
    problem = loaded(SCALED)
    layouts = [one.layout for one in (OWN, TURNED_COTANGENTS, EXPANDED_COTANGENTS)]
    assert [problem.make_inputs(0, 1, layout)[-1] for layout in layouts] == [DENSE, TURNED, EXPANDED]


@pytest.mark.parametrize(
    ("source", "reason", "remedy"),
    [
        (module("return x + 1", "torch.randint(0, 9, (50,))"), "nothing to differentiate", "nn.Parameter"),
        (module("return x.detach() * 2", "torch.randn(50)"), "no output depends on", "differentiable operators"),
        (module("return x.argsort()", "torch.randn(50)"), "only whole numbers", "Return a floating-point tensor"),
        (module("x *= 2\n        return x * x", "torch.randn(50)"), "changes in place", "x = x * 2"),
        (
            module("return x * 1.5", "torch.arange(9, requires_grad=True)"),
            "can require gradients",
            "Remove requires_grad=True from whole numbers",
        ),
        (
            module("return x.real * 2", "torch.randn(50, dtype=torch.complex64, requires_grad=True)"),
            "complex input",
            "view_as_real",
        ),
        (
            module(
                "return sum(one * x for one in self.many)",
                "torch.randn(50)",
                parameter="        self.many = nn.ParameterList(torch.ones(1) for _ in range(70))",
            ),
            "more than the 64",
            "Stack parameters",
        ),
        (module("return x * 2", "torch.randn(50)", tail="BACKWARD = 'yes'\n"), "not True or False", "BACKWARD = True"),
    ],
)
def test_a_reference_without_usable_gradients_is_refused_with_a_remedy(source: str, reason: str, remedy: str) -> None:
    with pytest.raises(Refused) as caught:
        loaded(source)
    assert reason in caught.value.reason
    assert remedy in caught.value.remedy


def test_a_marked_input_that_nothing_depends_on_is_refused() -> None:
    source = SCALED.replace("+ y.exp()", "").replace("torch.randn(6, 8)]", "torch.randn(6, 8, requires_grad=True)]")
    with pytest.raises(Refused, match="no output depends on input 2"):
        loaded(source)


def test_gradients_that_are_all_zero_are_refused() -> None:
    problem = loaded(module("return x.floor() + 0.5", "torch.randn(50)"))
    with pytest.raises(Refused, match="every gradient is zero") as caught:
        examine(problem, lambda _what, _line: None)
    assert "floor, round, sign" in caught.value.remedy


def test_a_gradient_that_is_rounding_noise_is_refused_by_name() -> None:
    parameter = "        self.bias = nn.Parameter(torch.ones(9, 1))\n"
    source = module("return nn.functional.layer_norm(x + self.bias, (50,))", "torch.randn(9, 50)", parameter=parameter)
    problem = loaded(source)
    with pytest.raises(Refused, match="the gradient of the parameter `bias` is nothing but rounding noise") as caught:
        examine(problem, lambda _what, _line: None)
    assert "leave the bias out" in caught.value.remedy


def test_a_usable_problem_is_examined_without_complaint() -> None:
    examine(loaded(SCALED), lambda _what, _line: None)


class _Model(torch.nn.Module):
    def __init__(self, result: str) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(4))
        self.fixed = torch.nn.Parameter(torch.ones(4), requires_grad=False)
        self._result = result

    def forward(self, x: torch.Tensor) -> object:
        y = x * self.scale
        return {"detached": y.detach(), "short": y[:1], "double": y.double(), "nothing": ()}[self._result]


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("detached", "cut off from the graph"),
        ("short", r"output 0 is float32\[1, 4\], expected float32\[2, 4\]"),
        ("double", r"output 0 is float64\[2, 4\]"),
        ("nothing", "output 0 is missing"),
    ],
)
def test_a_candidate_without_a_gradient_is_told_what_is_wrong(result: str, said: str) -> None:
    step = ModelStep(_Model(result), StepPlan(inputs=(0,), parameters=("scale",), outputs=(0,)))
    with pytest.raises(StepError, match=said):
        step(torch.randn(2, 4), torch.randn(2, 4), DENSE)


def test_parameters_are_found_under_the_candidate_s_own_names() -> None:
    plan = StepPlan(inputs=(), parameters=("weight",), outputs=(0,))
    model = _Model("short")
    assert matched(model, plan, {"weight": "scale"}).parameters == ("scale",)
    with pytest.raises(StepError, match="no parameter for the reference's `weight`"):
        matched(model, plan, {})
    with pytest.raises(StepError, match="`fixed` has requires_grad=False"):
        matched(model, plan, {"weight": "fixed"})


def test_a_plan_crosses_as_plain_data() -> None:
    plan = StepPlan(inputs=(0, 2), parameters=("a.b",), outputs=(1,))
    assert from_data(StepPlan, to_data(plan)) == plan
