"""What a function brings along into a problem, and what it cannot bring."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from kernelwright.optimized_functions.capture import capture
from kernelwright.optimized_functions.problem import make_problem
from services.domain.errors import ProblemError
from services.problems.lint import lint_problem, public_source
from tests.unit.kernelwright.optimized_functions import planted

pytestmark = pytest.mark.integration

X = torch.randn(4, 4)


def names_of(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "problem"}
    exec(source, names)
    return names


def test_a_function_brings_its_imports_constants_and_helpers() -> None:
    made = make_problem(planted.whole, (X,), [(X[:2],)])
    lint_problem(made.problem)
    names = names_of(made.problem.source)
    assert torch.equal(names["Model"]()(X, 1e-6), planted.whole(X))
    assert torch.equal(names["Model"]()(X), planted.whole(X))
    assert [tuple(value.shape) for value in names["get_inputs"]() if isinstance(value, torch.Tensor)] == [(4, 4)]
    assert names["HELD_OUT"][0]()[0].shape == (2, 4)
    assert "2, 4" not in public_source(made.problem)


def masked(x: torch.Tensor, mask: torch.Tensor, steps: int = 3) -> torch.Tensor:
    return x.masked_fill(mask > 0, 0.0) * steps


def test_constraints_become_a_line_of_the_problem_and_hold_for_its_draws() -> None:
    x, mask = torch.rand(8, 6), torch.tensor([0.0, 1.0, float("-inf"), 0.5, 0.0, 2.0])
    promised = {"x": {"shape": {0: "even"}, "range": (0.0, 0.9995)}, "mask": "fixed", "steps": "fixed"}
    x.clamp_(max=0.9995)
    source = make_problem(masked, [(x, mask), (x[:2], mask)], [(x[:4], mask)], constraints=promised).problem.source
    assert source.endswith(f"\nCONSTRAINTS = {promised!r}\n")
    made = names_of(source)
    for draw in (made["get_inputs"], *made["INPUT_SETS"], *made["HELD_OUT"]):
        drawn, same, _ = draw()
        assert 0.0 <= float(drawn.min()) <= float(drawn.max()) <= 0.9995
        assert torch.equal(same, mask)
    assert (
        "torch.full((64, 128), True"
        in make_problem(
            masked, (torch.rand(64, 128), torch.ones(64, 128, dtype=torch.bool)), constraints={"mask": "fixed"}
        ).problem.source
    )
    assert "CONSTRAINTS" not in make_problem(masked, (x, mask)).problem.source


@pytest.mark.parametrize(
    ("constraints", "reason"),
    [
        ({"nothing": "fixed"}, "no parameter of Model.forward"),
        ({"x": "loose"}, "neither"),
        ({"x": {"shape": {0: "multiple of 100"}}}, "no multiple of 100"),
        ({"x": {"range": (0.0, 0.1)}}, "which its range does not"),
        ({"x": "fixed"}, "write a problem file"),
    ],
)
def test_constraints_that_do_not_hold_are_refused(constraints: dict[str, Any], reason: str) -> None:
    with pytest.raises(ProblemError, match=reason):
        make_problem(masked, (torch.rand(128, 64), torch.rand(64)), constraints=constraints)


def test_a_changed_constant_or_helper_no_longer_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {item.name: item for item in capture(planted.whole).dependencies}
    assert found["EPS"].holds()
    monkeypatch.setattr(planted, "EPS", 1.0)
    assert not found["EPS"].holds()
    monkeypatch.setattr(planted, "EPS", float("1e-6"))
    assert found["EPS"].holds(), "an equal number is the same constant"
    monkeypatch.setattr(planted, "alias", torch.relu)
    assert not found["alias"].holds()


@pytest.mark.parametrize(
    ("function", "reason", "remedy"),
    [
        (planted.closing(1.0), "closes over `shift`", "Make it an argument"),
        (planted.nameless, "is a lambda", "Write it with def"),
        (planted.with_tensor, "uses the global tensor `WEIGHT`", "Make it an argument"),
        (planted.with_list, "uses the global `SIZES`, which may change", "tuple"),
        (planted.with_own_module, "uses `unit`, a module of your own", "Import the functions"),
        (planted.undefined, "uses `nowhere`, which is not defined", "Define or import it"),
        (planted.mutating, "changes its argument `x`", "Return a new tensor"),
        (planted.branching, "cannot be traced", "torch.where"),
        (planted.returning_a_number, "returns a float", "Return a tensor"),
        (planted.variadic, "takes *xs", "one by one"),
        (planted.raising, "raised ValueError: not for me", "Make it run"),
        (torch.relu, "is not written in Python", "Wrap it"),
        (torch.nn.ReLU(), "a ReLU was given", "problem file"),
    ],
)
def test_what_cannot_be_taken_along_is_named_with_a_remedy(
    function: Callable[..., Any], reason: str, remedy: str
) -> None:
    with pytest.raises(ProblemError) as caught:
        make_problem(function, (X,))
    assert reason in caught.value.reason
    assert remedy in caught.value.remedy


def test_a_function_without_source_says_where_to_define_it() -> None:
    names: dict[str, Any] = {}
    exec("def unseen(x):\n    return x + 1", names)
    with pytest.raises(ProblemError, match=r"no source text.*Define it in a file or in a notebook cell"):
        make_problem(names["unseen"], (X,))


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ((X, X, X), "an example has 3 arguments, and the function takes 2"),
        ((1.0,), "an example holds no tensor"),
        ((X.t(),), "argument 0 is not laid out row by row"),
        ((X, {"a": 1}), "argument 1 is a dict"),
        ((X.to(torch.complex64),), "argument 0 is torch.complex64"),
    ],
)
def test_examples_that_no_problem_draws_are_refused(inputs: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(ProblemError, match="Change the examples") as caught:
        make_problem(planted.whole, inputs)
    assert reason in caught.value.reason


def test_drawn_values_stay_where_the_examples_are() -> None:
    def drawn(value: torch.Tensor) -> torch.Tensor:
        found = names_of(make_problem(planted.scaled, (value,)).problem.source)["get_inputs"]()[0]
        assert isinstance(found, torch.Tensor)
        assert (found.shape, found.dtype) == (value.shape, value.dtype)
        return found

    assert float(drawn(torch.rand(1000)).min()) >= 0
    between_extremes = float(drawn(torch.randn(10_000) * 3 + 40).mean())  # the middle of two extremes, each off by one
    assert abs(between_extremes - 40) < 4
    assert set(drawn(torch.randint(3, 6, (1000,))).tolist()) == {3, 4, 5}
    drawn(torch.randn(8, 8).to(torch.bfloat16))
