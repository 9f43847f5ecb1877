"""Tensors that are alike come close, are equal, or are one."""

from __future__ import annotations

import pytest
import torch

from workers.referee.inputs.distributions import nudged
from workers.referee.inputs.relations import close, equal, opposite


def test_tensors_of_other_kinds_or_shapes_are_not_alike() -> None:
    x = torch.randn(64, 8)
    for other in (torch.randn(64, 9), torch.rand(64, 8), torch.ones(64, 8), x.double(), torch.arange(64), 3, None):
        assert close([x, other]) is None
        assert equal([x, other], shared=True) is None


def test_the_later_one_comes_close() -> None:
    x, y = torch.randn(64, 8), torch.randn(48, 8)
    found = close([x, y])
    assert found is not None
    assert found[0] is x
    assert 0 < float((found[1] - x[:48]).abs().max()) < 0.01


def test_equal_ones_lie_in_one_memory_where_they_may() -> None:
    x, y = torch.randn(64, 8), torch.randn(64, 8)
    shared, apart = equal([x, y], shared=True), equal([x, y], shared=False)
    assert shared is not None
    assert shared[1] is shared[0]
    assert apart is not None
    assert torch.equal(apart[1], x)
    assert apart[1].data_ptr() != x.data_ptr()
    one, other = nudged(shared)
    assert torch.equal(one, other)


def test_a_larger_one_keeps_its_rest() -> None:
    x, y = torch.randn(8, 8), torch.randn(64, 8)
    found = equal([x, y], shared=True)
    assert found is not None
    assert torch.equal(found[1], torch.cat((x, y[8:])))


def test_a_structure_stays() -> None:
    x, y = torch.randn(64, 64), torch.randn(64, 64).tril()
    found = close([x, y])
    assert found is not None
    assert not bool(found[1].triu(1).any())
    assert equal([x, y], shared=True) is None


def test_labels_are_equal_in_most_places() -> None:
    x, y = torch.randint(0, 9, (2, 4096)).unbind()
    found = close([x, y])
    assert found is not None
    assert 0.8 < float((found[1] == x).float().mean()) < 1


def test_the_later_one_comes_close_to_the_earlier_one_s_opposite() -> None:
    x, y = torch.randn(64, 8), torch.randn(48, 8)
    found = opposite([x, y])
    assert found is not None
    assert found[0] is x
    assert 0 < float((found[1] + x[:48]).abs().max()) < 0.01


def test_floats_of_one_sign_have_no_opposite() -> None:
    assert opposite([torch.rand(64, 8), torch.rand(64, 8)]) is None


@pytest.mark.parametrize(
    ("low", "high", "total"), [(0, 256, 255), (0, 9, 8), (-9, 10, 0), (0, 2, 1), (-128, 128, -1), (3, 7, 9)]
)
def test_whole_numbers_are_what_is_missing_to_the_end_of_their_range(low: int, high: int, total: int) -> None:
    x, y = torch.randint(low, high, (2, 4096)).unbind()
    found = opposite([x, y])
    assert found is not None
    assert 0.8 < float((found[0] + found[1] == total).float().mean()) < 1
    assert low <= int(found[1].min()) <= int(found[1].max()) < high


def test_bytes_and_masks_are_complements() -> None:
    one, other = torch.randint(0, 256, (2, 64, 64), dtype=torch.uint8).unbind()
    found = opposite([one, other])
    assert found is not None
    assert 0.8 < float((found[1] == ~one).float().mean()) < 1
    mask = torch.rand(64, 64) < 0.5
    found = opposite([mask, torch.rand(64, 64) < 0.5])
    assert found is not None
    assert float((found[1] == ~mask).float().mean()) > 0.8


def test_products_lose_what_is_left_of_opposites_and_differences_do_not() -> None:
    found = opposite([torch.randn(64, 256), torch.randn(64, 256)])
    assert found is not None
    x, y = found
    length = (x.double() + y.double()).square().sum(dim=1).sqrt()
    by_sum = (x + y).square().sum(dim=1).sqrt()
    by_products = (x.square().sum(dim=1) + y.square().sum(dim=1) + 2 * (x * y).sum(dim=1)).clamp(0).sqrt()
    assert float((by_sum - length).norm() / length.norm()) < 1e-5
    assert float((by_products - length).norm() / length.norm()) > 1e-3
