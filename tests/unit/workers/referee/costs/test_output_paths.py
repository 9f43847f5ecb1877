"""The graph says which outputs only move values, and what places are of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from services.domain.problems import ProblemAnalysis
from workers.referee.costs.analysis import analyse
from workers.referee.costs.operator_costs import converts_or_masks
from workers.referee.costs.output_paths import (
    ValuesChoice,
    choices,
    exact_outputs,
    is_clamped,
    only_compares_whole,
    only_moves,
    settles_ties,
)

F = torch.nn.functional


class Model(torch.nn.Module):
    def __init__(self, formula: Callable[..., Any]) -> None:
        super().__init__()
        self.formula = formula

    def forward(self, *given: Any) -> Any:
        return self.formula(*given)


def analysed(formula: Callable[..., Any], *given: torch.Tensor) -> ProblemAnalysis:
    found = analyse(
        Model(formula),
        given or (torch.randn(8, 16),),
        (),
        copy_bandwidth_gb_s=1.0,
        peak_gflop_s=1.0,
        size_numbers=False,
    )
    assert found.trace_error is None
    return found


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: x.sort(dim=1).values,
        lambda x: F.max_pool1d(x, 2).flip(1),
        lambda x: torch.where(x > 0.5, x, -x.abs()).t(),
        lambda x: torch.cat([x.clamp(-0.1, 0.7), x.roll(1)]),
        lambda x: x[:, torch.arange(8) * 2],
        lambda x: F.dropout(F.relu(x), 0.5, training=False),
        lambda x: x.topk(3).values.masked_fill(x[:, :3] > 0, 0.3),
        lambda x: torch.maximum(x, x.amax(dim=1, keepdim=True)),
        lambda x: F.pad(x.gather(1, x.argsort(1)), (1, 2)),
        lambda x: x.frexp().exponent,
        lambda x: torch.where(x.signbit(), x.sign(), x),
    ],
)
def test_moved_values_are_exact(formula: Callable[..., Any]) -> None:
    assert exact_outputs(analysed(formula)) == {0}


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: x + 1.0,
        lambda x: torch.where(x.softmax(1) > 0.1, x, 0.0),
        lambda x: x.to(torch.bfloat16),
        lambda x: x.bfloat16().float().flip(0),
        lambda x: x.cumsum(1).max(1).values,
        lambda x: F.leaky_relu(x),
        lambda x: x.argsort(1),
        lambda x: torch.zeros(8, 16).scatter(1, x.argsort(1), x, reduce="add"),
    ],
)
def test_computed_values_are_not(formula: Callable[..., Any]) -> None:
    assert exact_outputs(analysed(formula)) == set()


@pytest.mark.parametrize(
    ("formula", "moves"),
    [
        (lambda x: x.flip(0), True),
        (lambda x: x[:, torch.arange(0, 12, 4)[:, None] + torch.arange(4)], True),
        (lambda x: torch.cat([x[1:], x[:1]]), True),
        (lambda x: x.relu(), False),
        (lambda x: x.amax(1), False),
        (lambda x: x + 1.0, False),
    ],
)
def test_a_graph_that_only_moves_computes_nothing(formula: Callable[..., Any], moves: bool) -> None:
    assert only_moves(analysed(formula)) is moves


def test_each_output_has_a_path_of_its_own() -> None:
    assert exact_outputs(analysed(lambda x: (x.exp(), x.flip(0), x.mean(1), x.min(1).values))) == {1, 3}


def test_places_are_of_arguments_or_of_values_beside_them() -> None:
    found = choices(analysed(lambda x: (*x.topk(3, dim=0), x.exp().sort(1).indices, x.argsort(descending=True))))
    assert found == {
        1: ValuesChoice(dim=0, source=0, values=0),
        2: ValuesChoice(dim=1, source=None, values=None),
        3: ValuesChoice(dim=-1, source=0, values=None),
    }


@pytest.mark.parametrize("formula", [lambda x: x.argmax(1), lambda x: x.max(1).indices, lambda x: x.sort(stable=True)])
def test_where_an_order_is_promised_none_is_chosen(formula: Callable[..., Any]) -> None:
    assert choices(analysed(formula)) == {}


WHOLE = torch.randint(0, 1000, (8, 16))


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: x.sort(dim=1).values,
        lambda x: x.amax(1),
        lambda x: (x > 500).sum(1),
        lambda x: torch.where(x == 3, 0, x).flip(0),
        lambda x: x[:, :1] == x,
        lambda x: x.int().clamp(max=700),
    ],
)
def test_whole_numbers_that_are_only_compared(formula: Callable[..., Any]) -> None:
    assert only_compares_whole(analysed(formula, WHOLE))


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: x + 1,
        lambda x: x.sum(1),
        lambda x: x.float().amax(1),
        lambda x: x.abs().amax(1),
        lambda x: torch.arange(16) < x,
        lambda x: torch.ones(1000)[x],
        lambda x: torch.tensor([[2] * 16]) < x,
    ],
)
def test_whole_numbers_of_which_more_is_made(formula: Callable[..., Any]) -> None:
    assert not only_compares_whole(analysed(formula, WHOLE))


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: x.max(dim=1).indices,
        lambda x: x.sort(dim=1, stable=True).indices,
        lambda x: x.argmax(dim=1),
        lambda x: x > 0.5,
    ],
)
def test_places_that_are_promised_are_exact(formula: Callable[..., Any]) -> None:
    assert exact_outputs(analysed(formula)) == {0}


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: x.sort(dim=1).indices,
        lambda x: x.topk(3).indices,
        lambda x: (x * 0.3).argmax(dim=1),
        lambda x: x.cummax(dim=1).indices,
    ],
)
def test_places_that_are_not_promised_or_of_rounded_values_are_not(formula: Callable[..., Any]) -> None:
    assert exact_outputs(analysed(formula)) == frozenset()


def test_ties_are_settled_where_the_first_is_promised_of_values_as_they_are() -> None:
    assert settles_ties(analysed(lambda x: x.max(dim=1)))
    assert settles_ties(analysed(lambda x: x.sort(dim=1, stable=True)))
    assert not settles_ties(analysed(lambda x: x.sort(dim=1)))
    assert not settles_ties(analysed(lambda x: (x * 0.3).max(dim=1)))


def test_ties_are_settled_where_nobody_asks_for_places() -> None:
    assert settles_ties(analysed(lambda x: x.sort(dim=1).values))
    assert settles_ties(analysed(lambda x: torch.where(x > 0, torch.arange(16), 0).cummax(dim=1).values - 1))
    assert not settles_ties(analysed(lambda x: x.cummax(dim=1).indices))
    assert not settles_ties(analysed(lambda x: (x * 0.3).sort(dim=1).values))
    assert not settles_ties(analysed(lambda x: x.mode(dim=1).values))
    assert exact_outputs(analysed(lambda x: (x > 0).long().cummax(dim=1).values)) == {0}


def test_conversions_to_few_bits_and_stand_ins_for_infinity_are_seen() -> None:
    def found(formula: Callable[..., Any]) -> bool:
        return any(converts_or_masks(item) for item in analysed(formula).operators)

    assert found(lambda x: x.int().float())
    assert found(lambda x: x.masked_fill(x > 0.5, -1e9))
    assert not found(lambda x: x.masked_fill(x > 0.5, float("-inf")).frac())


def test_what_is_clamped_and_then_rounded_cannot_overflow() -> None:
    def found(formula: Callable[..., Any]) -> bool:
        analysis = analysed(formula)
        return all(is_clamped(analysis, item) for item in analysis.operators if converts_or_masks(item))

    assert found(lambda x: x.mul(9).round().clamp(-128, 127).to(torch.int8))
    assert found(lambda x: x.mul(9).clamp(0, 255).round().to(torch.uint8))
    assert not found(lambda x: x.mul(9).round().to(torch.int8))
    assert not found(lambda x: x.clamp(min=0).to(torch.int8))
    assert not found(lambda x: x.clamp(0, 1).mul(900).to(torch.int8))
