"""A bound that zeros, a copy, or an output without one of its tensors passes is narrowed, or said to tell nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

from services.domain.problems import ProblemAnalysis, TensorSpec
from workers.referee.comparison.error_scales import scales_of
from workers.referee.comparison.tolerance import ErrorScale, examine, tolerances
from workers.referee.comparison.trivial_outputs import MOST_TRIED, Tensors, TrivialOutputs

Formula = Callable[..., torch.Tensor]


def analysis(*parameters: str) -> ProblemAnalysis:
    return ProblemAnalysis(
        family="pointwise",
        inputs=(TensorSpec(name="x", shape=(8, 256), dtype="float32"), TensorSpec(name="w", shape=(), dtype="float32")),
        parameters=tuple(TensorSpec(name=one, shape=(256,), dtype="float32", origin=one) for one in parameters),
        operators=(),
        outputs=("y",),
        bytes_moved=0,
        flops=0,
        floor_us=0.0,
    )


def looked(
    formula: Formula, *arguments: torch.Tensor, terms: float = 1.0, given: Any = None
) -> tuple[ErrorScale, torch.Tensor]:
    trivial = TrivialOutputs(analysis(), tolerances(given), longest_sum=lambda _output: terms, has_exponentials=False)
    output, exact = formula(*arguments), formula(*(one.double() for one in arguments))
    scales = scales_of([output], [exact], [()])
    tensors = Tensors(run=lambda some: [formula(*some)], without=None, may_zero=True)
    return trivial.limited(scales, list(arguments), [output], [exact], tensors)[0], output


def faint(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x + 1e-6 * w * x.sin()


def draw() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(8, 256), torch.rand(8, 256) + 1.0


def test_half_of_a_faint_term_is_not_enough() -> None:
    x, w = draw()
    scale, wanted = looked(faint, x, w)
    table = tolerances(None)
    assert "a copy of `x` is off by" in scale.nearest
    assert not scale.remarks
    assert examine(x.clone(), wanted, scale, table).mismatch is not None
    assert examine(x + 0.5e-6 * w * x.sin(), wanted, scale, table).mismatch is not None
    assert examine(faint(x.double(), w.double()).float(), wanted, scale, table).mismatch is None


def test_nothing_changes_where_all_terms_count() -> None:
    x, w = draw()
    scale, _ = looked(lambda x, w: x + w * x.sin(), x, w)
    assert scale.most == math.inf
    assert scale.remarks == ()


def test_what_is_exactly_the_output_says_nothing() -> None:
    x, w = draw()
    scale, _ = looked(lambda x, w: x + 0.0 * w, x, w)
    assert scale.most == math.inf
    assert scale.remarks == ()


def test_where_a_rounding_is_as_large_nobody_can_tell() -> None:
    x, w = draw()
    scale, _ = looked(lambda x, w: x + 1e-7 * w, x, w)
    assert scale.most == math.inf
    assert scale.remarks == (
        "a copy of `x` passes the bounds: whether a kernel computes more was not judged",
        "the output without `w` passes the bounds: whether a kernel uses it was not judged",
    )


def test_a_long_sum_loses_more_than_a_faint_term() -> None:
    x, w = torch.rand(256, 2048), torch.rand(256)
    scale, _ = looked(lambda x, w: x.sum(1) + 1e-3 * w, x, w, terms=2048.0)
    assert scale.most == math.inf
    assert scale.remarks == ("the output without `w` passes the bounds: whether a kernel uses it was not judged",)


def test_what_a_problem_permits_is_only_told() -> None:
    x, w = draw()
    scale, _ = looked(faint, x, w, given={"float32": (1e-2, 1e-2)})
    assert scale.most == math.inf
    assert len(scale.remarks) == 2


def test_the_largest_tensors_are_tried_and_later_those_that_tell() -> None:
    names = [f"p{number}" for number in range(MOST_TRIED + 3)]
    trivial = TrivialOutputs(analysis(*names), tolerances(None), longest_sum=lambda _: 1.0, has_exponentials=False)
    x = torch.randn(8, 256)
    gains, zeroed = dict.fromkeys(names, 1.0) | {"p0": 1e-5}, list[str]()

    def formula(one: torch.Tensor) -> torch.Tensor:
        return sum((gain * (one * (place + 2)).sin() for place, gain in enumerate(gains.values())), one)

    @contextlib.contextmanager
    def without(name: str) -> Iterator[None]:
        zeroed.append(name)
        usual, gains[name] = gains[name], 0.0
        yield
        gains[name] = usual

    tensors = Tensors(run=lambda some: [formula(*some)], without=without, may_zero=True)
    output, exact = formula(x), formula(x.double())
    scales = scales_of([output], [exact], [()])

    first = trivial.limited(scales, [x], [output], [exact], tensors)[0]

    assert "without `p0`" in first.nearest
    assert zeroed == names[: MOST_TRIED - 1]
    assert first.remarks == ("not tried: whether the bounds detect an output without one of 4 further tensors",)
    zeroed.clear()
    again = trivial.limited(scales, [x], [output], [exact], tensors)[0]
    assert (zeroed, again.most, again.remarks) == (["p0"], first.most, ())
    varied = dataclasses.replace(tensors, without=None)
    assert trivial.limited(scales, [x], [output], [exact], varied)[0].most == math.inf
