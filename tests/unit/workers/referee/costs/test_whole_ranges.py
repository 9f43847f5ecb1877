"""How far whole numbers may go follows from the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.unit.workers.referee.costs.test_output_paths import analysed
from workers.referee.costs.whole_ranges import EXACT_IN_DOUBLE, hashes, whole_ranges

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


def test_products_wrap_where_that_is_asked_for_and_in_no_less_than_32_bits() -> None:
    analysis = analysed(lambda a: (a * 31 + 7).remainder(1000), WHOLE)
    assert hashes(analysis)
    assert whole_ranges(analysis)[0].high < 1 << 27
    assert whole_ranges(analysis, wraps=True)[0].high == (1 << 31) - 1
    short = analysed(lambda a: (a * 31).remainder(100), BYTES)
    assert whole_ranges(short, wraps=True) == whole_ranges(short)
    assert not hashes(analysed(lambda a: a * 31 + 7, WHOLE))


def test_a_remainder_that_lies_within_a_table_is_an_index_that_may_come_from_any_number() -> None:
    table = torch.randn(32, 4)
    analysis = analysed(lambda t, i: t[i.remainder(32)], table, LONG)
    assert whole_ranges(analysis)[1].high == LARGEST
    assert whole_ranges(analysed(lambda t, i: t[i.remainder(33)], table, LONG)) == {}


def test_numbers_that_are_converted_may_be_more_than_32_bits_hold() -> None:
    analysis = analysed(lambda a: a.float() / 3600, LONG)
    assert whole_ranges(analysis)[0].high < 1 << 21
    assert 1 << 50 <= whole_ranges(analysis, converted=EXACT_IN_DOUBLE)[0].high <= EXACT_IN_DOUBLE
    half = analysed(lambda a: a.half() * 2, LONG)
    assert whole_ranges(half, converted=EXACT_IN_DOUBLE) == whole_ranges(half)
