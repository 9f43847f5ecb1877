"""Slices beside one that is larger by far, and what is only remarked, against a real runner."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.unit.workers.referee.boundary.test_runner_client import DOUBLE, against, honest
from tests.unit.workers.referee.trials import a_reference, a_trial
from workers.ipc.tensors import TensorMeta
from workers.referee.comparison.error_scales import scales_of
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import tolerances
from workers.referee.gates.checks.distant_means import (
    beside_a_huge_element,
    beside_a_huge_slice,
    remark_on_distant_means,
)
from workers.referee.inputs.constraints import Limits
from workers.referee.inputs.distributions import Distribution, drawn

LENGTHS = DOUBLE.replace("x * self.weight", "x.norm(dim=1)")
ONE_SCALE = DOUBLE.replace("x * self.weight", "(x / x.abs().max()).norm(dim=1) * x.abs().max()")
REFUSES = DOUBLE.replace("return x", "assert x.abs().max() < 1e9, 'too large'\n        return x")
VARIANCES = DOUBLE.replace("x * self.weight", "x.var(dim=1)")
BY_THE_FIRST = DOUBLE.replace(
    "return x * self.weight",
    "x = x - x[0, 0]\n        return (x.square().mean(dim=1) - x.mean(dim=1).square()) * 64 / 63",
)
Formula = Callable[[torch.Tensor], torch.Tensor]


def tried(check: Callable[[Any], Any], source: str, formula: Formula, **names: Any) -> tuple[Any, list[str]]:
    """What a check says of a candidate, of a reference with such a formula; and the notes."""

    def draw(_number: int, distribution: Distribution) -> list[torch.Tensor]:
        return drawn([torch.randn(300, 64)], distribution)

    def scales_on(arguments: list[torch.Tensor], *_given: Any, **_named: Any) -> Any:
        return scales_of([formula(arguments[0])], [formula(arguments[0].double())], [()])

    problem = SimpleNamespace(
        tolerances=tolerances(None), gradient_names=(), is_step=False, limits=Limits(), forward_arguments=list
    )
    state = a_reference(
        aliases=frozenset(),
        shares=frozenset(),
        mutates=False,
        chooses=False,
        names={"var"},
        analysis=SimpleNamespace(operators=()),
        draw=draw,
        scales=lambda number, distribution: scales_on(draw(number, distribution)),
        scales_on=scales_on,
        with_line_errors=lambda scales, *_given: scales,
        other_choices=lambda *_given: [],
        otherwise_rounded=lambda *_given: [],
        expected=lambda arguments: Answer.of(formula(arguments[0])),
        metas=lambda _number: [TensorMeta.of(formula(torch.zeros(300, 64)))],
    )
    with against(honest) as session:
        weight = [("weight", torch.ones(64))]
        assert session.load(source, [64], weight, seed=1, copy_state=True, threads=2, limit_s=10.0)
        trial = a_trial(session=session, problem=problem, state=state)
        return check(trial), trial.notes


def lengths(x: torch.Tensor) -> torch.Tensor:
    return x.square().sum(dim=1).sqrt()


def test_one_scale_for_all_rows_is_found_and_rows_by_themselves_pass() -> None:
    found, _ = tried(beside_a_huge_slice, ONE_SCALE, lengths)
    assert found is not None
    assert found.detail.startswith("in the slices next to a huge one: the output")
    assert tried(beside_a_huge_slice, LENGTHS, lengths) == (None, [])


def test_windows_by_differences_are_found_beside_a_huge_element_and_sums_pass() -> None:
    sums = DOUBLE.replace("x * self.weight", "x.unfold(1, 4, 1).sum(dim=2)")
    by_differences = DOUBLE.replace(
        "return x * self.weight",
        "y = torch.nn.functional.pad(x, (1, 0)).cumsum(dim=1)\n        return y[:, 4:] - y[:, :-4]",
    )

    def formula(x: torch.Tensor) -> torch.Tensor:
        return x.unfold(1, 4, 1).sum(dim=2)

    found, _ = tried(beside_a_huge_element, by_differences, formula)
    assert found is not None
    assert found.detail.startswith("next to single elements a million times as large: the output")
    assert tried(beside_a_huge_element, sums, formula) == (None, [])


def test_a_kernel_may_refuse_a_huge_slice() -> None:
    found, notes = tried(beside_a_huge_slice, REFUSES, lambda x: x * 1.0)
    assert found is None
    assert notes[0].startswith("limited: a call with a huge slice was refused")


@pytest.mark.parametrize("formula", [lambda x: x / x.norm(), lambda x: x.cumsum(dim=0)])
def test_where_rows_have_a_share_in_each_other_nothing_is_asked(formula: Formula) -> None:
    assert tried(beside_a_huge_slice, DOUBLE.replace("x * self.weight", "x"), formula) == (None, [])


def test_a_shift_by_the_first_element_of_all_is_remarked_and_variances_of_rows_are_not() -> None:
    said, _ = tried(remark_on_distant_means, BY_THE_FIRST, lambda x: x.var(dim=1))
    assert said is not None
    assert said.startswith("PROVEN FOR ROWS OF ONE MEAN: imprecise where means are 300 standard deviations apart")
    assert tried(remark_on_distant_means, VARIANCES, lambda x: x.var(dim=1)) == (None, [])
