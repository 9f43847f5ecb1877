"""A few elements of each tensor change, and structure that kernels may rely on does not."""

import torch

from workers.referee.inputs.small_changes import RUN, looking_alike, slightly_changed


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


def test_numbers_and_small_tensors_are_changed_to_what_looks_alike() -> None:
    taps, x = torch.tensor([0.5, -1.0, 2.0, 3.0]), torch.randn(64, 64)
    found = list(looking_alike([x, 1.5, 3, True, taps, torch.ones(8)]))
    assert [is_tensor for _, is_tensor, _ in found] == [False, True]
    (_, _, numbers), (_, _, orders) = found
    assert [[round(1.5 / abs(call[1] - 1.5)) for call in ways] for ways in numbers] == [[3000] * 2, [300] * 2]
    assert len(orders) == 3
    for (call,) in orders:
        assert not torch.equal(call[4], taps)
        assert torch.equal(call[4].sort().values, taps.sort().values)


def test_small_tensors_keep_their_structure() -> None:
    bounds, order = torch.tensor([0.1, 0.5, 0.7, 2.0]), torch.tensor([2, 0, 1, 3])
    for _, _, calls in looking_alike([torch.randn(8, 9), bounds, order]):
        for (call,) in calls:
            assert torch.equal(call[1], call[1].sort().values)
            assert torch.equal(call[2].sort().values, torch.arange(4))
    assert not list(looking_alike([bounds, bounds]))
