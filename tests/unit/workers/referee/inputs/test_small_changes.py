"""A few elements of each tensor change, and structure that kernels may rely on does not."""

import torch

from workers.referee.inputs.small_changes import RUN, slightly_changed


def test_a_run_of_general_numbers_comes_from_another_draw() -> None:
    x, other = torch.randn(64, 64), torch.randn(64, 64)
    found = slightly_changed([x], [other])
    assert found is not None
    apart = found[0] != x
    assert 1 <= int(apart.sum()) <= RUN
    assert torch.equal(found[0][apart], other[apart])


def test_a_triangle_stays_one() -> None:
    mask = torch.ones(128, 128, dtype=torch.bool).tril()
    found = slightly_changed([mask], [mask])
    assert found is not None
    assert not torch.equal(found[0], mask)
    assert not bool(found[0].triu(1).any())


def test_a_permutation_stays_one() -> None:
    order = torch.randperm(1000)
    found = slightly_changed([order], [torch.randperm(1000)])
    assert found is not None
    assert not torch.equal(found[0], order)
    assert torch.equal(found[0].sort().values, torch.arange(1000))


def test_rows_of_sum_one_stay_so() -> None:
    weights = torch.rand(64, 64).softmax(dim=-1)
    found = slightly_changed([weights], [torch.rand(64, 64).softmax(dim=-1)])
    assert found is not None
    assert torch.allclose(found[0].sum(dim=-1), torch.ones(64))


def test_what_other_arguments_follow_from_stays_as_it_is() -> None:
    offsets = torch.arange(0, 1001, 100)
    lengths = offsets.diff()
    assert slightly_changed([offsets, lengths], [offsets, lengths]) is None


def test_masks_stay_where_only_general_numbers_may_change() -> None:
    x, labels = torch.randn(64, 64), torch.randint(0, 7, (64,))
    found = slightly_changed([x, labels], [torch.randn(64, 64), torch.randint(0, 7, (64,))], whole=False)
    assert found is not None
    assert torch.equal(found[1], labels)


def test_columns_in_no_order_change_and_where_rows_start_does_not() -> None:
    starts = torch.cat([torch.tensor([0]), torch.randperm(999)[:62].sort().values + 1, torch.tensor([1000])])
    columns, other = torch.randint(0, 100, (1000,)), torch.randint(0, 100, (1000,))
    found = slightly_changed([starts, columns], [starts, other])
    assert found is not None
    assert torch.equal(found[0], starts)
    assert 0 < int((found[1] != columns).sum()) <= RUN


def test_columns_in_order_stay_and_values_change() -> None:
    starts = torch.arange(0, 1001, 10)
    columns = torch.stack([torch.randperm(100)[:10].sort().values for _ in range(100)]).view(-1)
    found = slightly_changed([starts, columns, torch.randn(1000)], [starts, columns, torch.randn(1000)])
    assert found is not None
    assert torch.equal(found[0], starts)
    assert torch.equal(found[1], columns)
