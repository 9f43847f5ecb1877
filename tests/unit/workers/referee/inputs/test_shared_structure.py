"""What all draws of an argument share is removed, one structure at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from workers.referee.inputs.shared_structure import Removal, without_structure
from workers.referee.inputs.unvarying import Freedom

FREE = Freedom()


def removals(draw: Callable[[], list[object]], freedom: Freedom = FREE) -> dict[str, Removal]:
    arguments = draw()
    found = without_structure(arguments, lambda: [draw(), draw()], range(len(arguments)), freedom)
    return {one.structure: one for one in found}


def ids() -> torch.Tensor:
    return torch.randint(0, 16, (4096,)).sort().values


def prefixes() -> torch.Tensor:
    return torch.arange(64) < torch.randint(1, 65, (32, 1))


def labels(dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.randint(0, 16, (64,)), 16).to(dtype)


def symmetric() -> torch.Tensor:
    graph = torch.rand(64, 64)
    return graph + graph.T


@pytest.mark.parametrize(
    ("draw", "structure", "is_promise"),
    [
        (lambda: torch.randn(64, 64).softmax(dim=-1), "rows of sum one", True),
        (lambda: torch.nn.functional.normalize(torch.randn(64, 64), dim=-1), "rows of length one", True),
        (lambda: torch.rand(64, 64).sort(dim=-1).values, "rows in order", True),
        (symmetric, "symmetric matrices", True),
        (lambda: torch.randn(64, 64).relu(), "many zeros", True),
        (labels, "one place in each row", True),
        (lambda: labels(torch.float32), "one place in each row", True),
        (prefixes, "padding on one side", False),
        (lambda: ~prefixes(), "padding on one side", False),
        (ids, "numbers without gaps", False),
        (ids, "numbers in order", True),
        (lambda: torch.randperm(2048)[:1024], "different numbers", False),
        (lambda: torch.randperm(2048), "all numbers once", True),
    ],
)
def test_a_structure_is_removed(draw: Callable[[], torch.Tensor], structure: str, is_promise: bool) -> None:
    found = removals(lambda: [torch.randn(8, 3), draw()])[structure]
    changed = found.arguments[1]
    assert (found.place, found.is_promise) == (1, is_promise)
    like = draw()
    assert (changed.shape, changed.dtype) == (like.shape, like.dtype)
    assert structure not in removals(lambda: [torch.randn(8, 3), changed])


def test_ids_with_gaps_are_in_order_and_within_their_range() -> None:
    changed = removals(lambda: [ids()])["numbers without gaps"].arguments[0]
    assert bool((changed.diff() >= 0).all())
    assert 0 <= int(changed.min()) <= int(changed.max()) == 15
    assert changed.unique().numel() < 16


def test_zeros_give_way_and_rows_keep_their_sums() -> None:
    def draw() -> list[object]:
        values = torch.rand(64, 64) * (torch.rand(64, 64) < 0.5)
        return [values / values.sum(dim=-1, keepdim=True)]

    changed = removals(draw)["many zeros"].arguments[0]
    assert bool((changed > 0).all())
    torch.testing.assert_close(changed.sum(dim=-1), torch.ones(64))


def test_a_row_that_was_padded_at_its_end_is_padded_at_its_beginning() -> None:
    changed = removals(lambda: [torch.randn(32, 64, 8), prefixes()])["padding on one side"].arguments[1]
    assert bool((~changed[:, 0]).any())
    assert bool(changed.any(dim=1).all())


def test_lengths_go_beyond_the_row() -> None:
    found = removals(lambda: [torch.randn(16, 4096), torch.randint(1, 4097, (16,))])["numbers up to 4096"]
    assert int(found.arguments[1].max()) > 4096
    assert int(found.arguments[1][-1]) <= 4096
    assert found.is_promise


def test_what_only_one_draw_has_is_no_structure() -> None:
    draws = iter([torch.rand(64, 64).softmax(dim=-1), torch.rand(64, 64), torch.rand(64, 64)])
    assert removals(lambda: [next(draws)]) == {}


def test_general_values_have_none() -> None:
    draw = lambda: [torch.randn(64, 64), torch.rand(64, 64) < 0.5, torch.randint(0, 99, (64, 64)), 3, None]  # noqa: E731
    assert removals(draw) == {}


def test_what_the_reference_cannot_take_is_left_alone() -> None:
    assert removals(lambda: [torch.randperm(2048)[:1024]], Freedom(repeats=False)) == {}
    assert "numbers in order" not in removals(lambda: [ids()], Freedom(restarts=False))
    assert removals(lambda: [torch.rand(64, 64).sort(dim=-1).values], Freedom(restarts=False)) == {}


def test_what_follows_from_lengths_stays_with_them() -> None:
    def draw() -> list[object]:
        lengths = torch.randint(1, 65, (32,))
        return [lengths, torch.arange(64) < lengths.unsqueeze(1)]

    assert removals(draw) == {}


def test_a_triangle_is_no_padding() -> None:
    def draw() -> list[object]:
        return [torch.ones(32, 32, dtype=torch.bool).tril()]

    assert removals(draw) == {}


def test_views_stay_views() -> None:
    found = removals(lambda: [torch.rand(64, 32).softmax(dim=0).T])["rows of sum one"]
    assert found.arguments[0].stride() == (1, 32)
