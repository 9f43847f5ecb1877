"""How far whole numbers may go follows from the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.unit.workers.referee.costs.test_output_paths import analysed
from workers.referee.costs.whole_ranges import whole_ranges

F = torch.nn.functional
BYTES = torch.randint(-8, 8, (4, 256), dtype=torch.int8)
WHOLE = torch.randint(0, 9, (4, 1024), dtype=torch.int32)
LONG = torch.randint(0, 9, (4, 1024))
LARGEST = (1 << 63) - 1


def found(formula: Callable[..., Any], *given: torch.Tensor) -> dict[int, tuple[int, int]]:
    return {place: (one.low, one.high) for place, one in whole_ranges(analysed(formula, *given)).items()}


@pytest.mark.parametrize(
    ("formula", "given", "ends"),
    [
        (lambda a: (a.int() * a.int()).sum(dim=-1), BYTES, (-128, 127)),
        (lambda a: a.abs(), BYTES, (-127, 127)),
        (lambda a: a * 3, BYTES, (-31, 31)),
        (lambda a: a.sum(dim=-1), WHOLE, (-(1 << 31), (1 << 31) - 1)),
        (lambda a: a.sum(dim=-1), LONG, (1 - (1 << 53), (1 << 53) - 1)),
        (lambda a: a % 1000, LONG, (-LARGEST, LARGEST)),
        (lambda a: torch.div(a, 7, rounding_mode="floor"), LONG, (-LARGEST, LARGEST)),
        (lambda a: a.half() * 2, LONG, (1 - (1 << 11), (1 << 11) - 1)),
        (lambda a: a == 3, LONG, (-LARGEST, LARGEST)),
    ],
)
def test_sums_and_products_stay_exact(formula: Callable[..., Any], given: torch.Tensor, ends: tuple[int, int]) -> None:
    assert found(formula, given) == {0: ends}


def test_indices_are_those_of_the_table_and_negative_ones_where_those_count_from_its_end() -> None:
    table, index = torch.randn(32, 4), torch.randint(0, 8, (16,))
    assert found(lambda t, i: t[i], table, index) == {1: (-32, 31)}
    assert found(lambda t, i: t.index_select(0, i), table, index) == {1: (0, 31)}
    assert found(lambda t, i: F.embedding(i, t), table, index) == {1: (0, 31)}
    assert found(lambda t, i: t[i.long()], table, index.to(torch.uint8)) == {1: (0, 31)}
    assert whole_ranges(analysed(lambda t, i: t[i], table, index))[1].is_index


@pytest.mark.parametrize(
    "formula",
    [
        lambda a: F.one_hot(a, 16),
        lambda a: a.unsqueeze(-1) == torch.arange(16),
        lambda a: torch.zeros(16, dtype=torch.int64).scatter_add(0, a.view(-1), torch.ones_like(a).view(-1)),
        lambda a: 1 / (a // a),
    ],
)
def test_nothing_is_known_of_places_and_counts(formula: Callable[..., Any]) -> None:
    assert found(formula, LONG) == {}


def test_one_input_s_range_is_known_where_another_one_s_is_not() -> None:
    assert found(lambda a, b: (a.sum(dim=-1), F.one_hot(b, 16)), WHOLE, LONG) == {0: (-(1 << 31), (1 << 31) - 1)}
