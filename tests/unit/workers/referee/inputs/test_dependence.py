"""Tensors that follow from one another."""

from __future__ import annotations

import pytest
import torch

from workers.referee.inputs.dependence import refitted, together
from workers.referee.inputs.distributions import CODES, WHOLE, changes, drawn
from workers.referee.inputs.resize import resized
from workers.referee.inputs.value_kinds import is_code, is_whole, may_repeat
from workers.referee.inputs.value_structure import with_rows_of


def _lengths_and_mask() -> list[torch.Tensor]:
    lengths = torch.randint(1, 65, (40,))
    return [torch.randn(40, 64), lengths, torch.arange(64) < lengths[:, None]]


@pytest.mark.parametrize("change", [lambda mask: mask, lambda mask: ~mask, lambda mask: mask.float()[:, None, None]])
def test_a_mask_and_the_lengths_that_it_comes_from_belong_together(change) -> None:  # type: ignore[no-untyped-def]
    x, lengths, mask = _lengths_and_mask()
    assert together([x, lengths, change(mask)]) == {1, 2}
    assert together([x, lengths.roll(1), change(mask)]) == set()


def test_no_kind_of_values_changes_one_of_them_alone() -> None:
    given = _lengths_and_mask()
    for kind in (*WHOLE, *CODES):
        assert not changes(given, kind)
        _, lengths, mask = drawn(given, kind)
        assert torch.equal(lengths, given[1])
        assert torch.equal(mask, given[2])


@pytest.mark.parametrize("size", [40, 33, 1, 0, 55])
@pytest.mark.parametrize("last", [False, True])
def test_they_fit_at_every_size(size: int, last: bool) -> None:
    changed = resized(_lengths_and_mask(), size, last=last)
    if changed is not None:
        _, lengths, mask = changed
        assert torch.equal(mask, torch.arange(mask.shape[1]) < lengths[:, None])


def test_a_permutation_and_its_inverse_grow_together() -> None:
    order = torch.randperm(100)
    larger = resized([torch.randn(100, 3), order, order.argsort()], 130, last=False)
    assert larger is not None
    assert torch.equal(larger[1].sort().values, torch.arange(130))
    assert torch.equal(larger[1].argsort(), larger[2])


def test_permutations_of_rows_stay_permutations() -> None:
    order = torch.rand(64, 100).argsort(dim=1)
    assert not is_whole(order)
    assert not may_repeat(order)
    for last, size, width in ((True, 130, 130), (False, 80, 100), (False, 9, 100)):
        changed = resized([torch.randn(64, 100), order], size, last=last)
        assert changed is not None
        assert bool((changed[1].sort(dim=1).values == torch.arange(width)).all())
    assert resized([torch.randn(64, 100), order], 67, last=True) is None


def test_the_best_few_of_each_row_are_no_codes() -> None:
    best = torch.randn(512, 8).topk(2).indices
    assert not is_code(best)
    assert not is_whole(best)


def test_what_cannot_be_refitted_is_none() -> None:
    x, lengths, mask = _lengths_and_mask()
    assert refitted([x, lengths, mask], [x, lengths[:3], mask]) is None or mask.shape[0] == 3


def test_short_rows_of_length_one_keep_their_length() -> None:
    turns = torch.nn.functional.normalize(torch.randn(100, 4), dim=-1)
    for given in (turns, turns[:1]):
        assert torch.allclose(with_rows_of(given, given * 3 + 1).norm(dim=-1), torch.ones(given.shape[0]))
