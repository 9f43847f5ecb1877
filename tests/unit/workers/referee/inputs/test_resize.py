"""Whole numbers that say where something is stay right when what they point into is cut or grows."""

import pytest
import torch

from workers.referee.inputs.resize import (
    dimensions,
    growing_together,
    parts,
    resized,
    resized_at,
    sharing,
    small_dimensions,
    spread,
)


def test_lengths_do_not_exceed_what_is_left() -> None:
    lengths = torch.randint(1, 129, (64,))
    lengths[:4] = torch.tensor([128, 128, 1, 65])
    found = resized([torch.randn(64, 128), lengths], 67, last=True)
    assert found is not None
    assert found[0].shape == (64, 67)
    assert found[1].shape == (64,)
    assert found[1][:4].tolist() == [67, 67, 1, 35]
    assert 1 <= int(found[1].min()) <= int(found[1].max()) == 67


def test_indices_stay_below_what_is_left() -> None:
    index = torch.randint(0, 500, (4096,), dtype=torch.int32)
    index[:2] = torch.tensor([0, 499])
    found = resized([torch.randn(500, 8), index], 67, last=False)
    assert found is not None
    assert found[1].dtype is torch.int32
    assert (int(found[1].min()), int(found[1].max())) == (0, 66)
    assert torch.unique(found[1]).numel() > 60  # no more than usual meet in one place


def test_offsets_stay_in_order_and_within() -> None:
    offsets = torch.cat((torch.zeros(1, dtype=torch.int64), torch.randint(0, 4097, (255,)).sort().values))
    offsets[-1] = 4090
    tokens = torch.randint(0, 100_000, (4096,))
    cut = resized([tokens, offsets], 67, last=False)
    assert cut is not None
    assert bool((cut[1][1:] >= cut[1][:-1]).all())
    assert int(cut[1][0]) == 0
    assert int(cut[1][-1]) <= 66
    assert torch.equal(cut[0], tokens[:67])
    grown = resized([offsets, torch.randn(256)], 700, last=False)
    assert grown is not None
    assert grown[0].shape == (700,)
    assert bool((grown[0][1:] >= grown[0][:-1]).all())


def test_further_sizes_that_are_cut_take_their_indices_along() -> None:
    index = torch.randint(0, 300, (64,))
    index[:2] = torch.tensor([0, 299])
    cut = resized_at([torch.randn(64, 300, 16), index], [(0, 1)], 67)
    assert cut is not None
    assert cut[0].shape == (64, 67, 16)
    assert int(cut[1].max()) == cut[0].shape[1] - 1


def test_what_grows_apart_holds_no_value_twice() -> None:
    x = torch.randperm(64 * 128).view(64, 128).double() + 0.1
    for new, last in ((300, True), (200, False)):
        found = resized([x], new, last=last, apart=True)
        assert found is not None
        assert found[0].shape == ((64, new) if last else (new, 128))
        assert torch.unique(found[0]).numel() == found[0].numel()
        repeated = resized([x], new, last=last)
        assert repeated is not None
        assert torch.unique(repeated[0]).numel() == x.numel()


@pytest.mark.parametrize(
    "other",
    [
        torch.randint(-50, 128, (64,)),
        torch.arange(64) % 10,
        torch.randint(0, 100_000, (64,)) + 200,
        torch.randint(0, 128, (64,), dtype=torch.uint8),
    ],
)
def test_other_whole_numbers_stay_as_they_are(other: torch.Tensor) -> None:
    found = resized([torch.randn(64, 128), other], 67, last=True)
    assert found is not None
    assert found[1] is other


@pytest.mark.parametrize("lengths", [torch.tensor([40]), torch.tensor([9, 40])])
def test_few_lengths_stay_within_although_none_is_in_the_second_half(lengths: torch.Tensor) -> None:
    found = resized([torch.randn(2, 128), lengths], 11, last=True)
    assert found is not None
    assert 1 <= int(found[1].min()) <= int(found[1].max()) <= 11


def test_a_choice_without_repetition_is_not_made_one_with() -> None:
    assert resized([torch.randn(64, 128), torch.randperm(128)], 67, last=True) is None
    assert resized([torch.randn(64, 128), torch.randint(0, 128, (640,)).clamp(max=120)], 1, last=True) is None


@pytest.mark.parametrize(
    ("shapes", "cut"),
    [
        ([(64, 100)], (16, 100)),
        ([(64, 100), (64,)], (16, 100)),
        ([(1, 6400)], (1, 1600)),
    ],
)
def test_a_part_is_cut_along_a_dimension_to_so_many_bytes(shapes: list[tuple[int, ...]], cut: tuple[int, ...]) -> None:
    tensors = [torch.randn(shape) for shape in shapes]
    found = list(parts(tensors, sum(tensor.nbytes for tensor in tensors) // 4))
    assert found
    assert cut in [tuple(one[0].shape) for one in found]


def test_both_factors_of_a_square_product_are_cut_in_every_dimension() -> None:
    first, second = list(parts([torch.randn(64, 64), torch.randn(64, 64)], 8 << 10))[-1]
    assert first.shape == second.shape == (32, 32)


def test_dimensions_of_the_first_tensor_come_first_and_short_ones_not_at_all() -> None:
    assert dimensions([torch.randn(8, 3, 9, 7), torch.randn(7, 5)]) == [(0, 0), (0, 3), (0, 2), (1, 0), (1, 1)]


def test_equal_sizes_change_together_and_apart() -> None:
    found = sharing([torch.randn(16, 16), torch.randn(16, 16)], (0, 1))
    assert found[0] == ((0, 1), (1, 1))
    assert ((0, 1),) in found
    assert ((0, 1), (1, 0)) in found
    assert len(found[-1]) == 4


def test_equal_sizes_beside_an_index_change_together_only() -> None:
    found = sharing([torch.randn(16, 16), torch.randint(0, 16, (16,))], (0, 0))
    assert all(len(axes) > 1 for axes in found)


def test_what_broadcasts_gets_other_values_at_each_place() -> None:
    scores, mask = torch.randn(2, 4, 8), torch.rand(2, 1, 8) < 0.5
    mask[0, 0, :2] = torch.tensor([True, False])
    found = spread([scores, mask], (1, 1))
    assert found is not None
    assert found[1].shape == (2, 4, 8)
    assert torch.equal(found[1][:, :1], mask)
    assert not torch.equal(found[1][:, 1], found[1][:, 0])
    assert spread([scores, torch.ones(1, dtype=torch.bool)], (1, 0)) is None
    assert spread([scores, torch.randn(2, 1, 8)], (1, 1)) is None


def test_labels_with_zeros_among_them_grow() -> None:
    found = resized([torch.randint(0, 4, (1000,))], 70_000, last=False)
    assert found is not None
    assert found[0].shape == (70_000,)


def test_the_last_of_many_copies_is_the_largest() -> None:
    found = resized([torch.rand(64) + 1.0], 70_000, last=False, apart=True)
    assert found is not None
    assert int(found[0].argmax()) > 69_000


def test_symmetric_matrices_become_smaller_and_stay_symmetric_but_grow_no_larger() -> None:
    half = torch.randn(40, 40)
    symmetric, x = half + half.T, torch.randn(40, 6)
    assert (0, 0) in dimensions([symmetric, x])
    both = ((0, 0), (0, 1), (1, 0))
    smaller = resized_at([symmetric, x], both, 7)
    assert smaller is not None
    assert torch.equal(smaller[0], symmetric[:7, :7])
    assert smaller[1].shape == (7, 6)
    assert resized_at([symmetric, x], [(0, 0), (1, 0)], 7) is None
    assert resized_at([symmetric, x], both, 50) is None


def test_zeros_that_lie_anywhere_keep_no_dimension_from_growing() -> None:
    x = torch.randn(64, 64).relu()
    larger = resized_at([x], [(0, 0)], 100)
    assert larger is not None
    assert larger[0].shape == (100, 64)
    assert len(sharing([x], (0, 0))[0]) == 1
    triangle = torch.randn(64, 64).tril()
    assert resized_at([triangle], [(0, 0)], 100) is None
    padded = torch.where(torch.arange(64) < torch.randint(20, 60, (64, 1)), torch.randn(64, 64), 0.0)
    assert resized_at([padded], [(0, 0)], 100) is None


def test_a_triangle_grows_as_a_triangle() -> None:
    scores, decay = torch.randn(2, 16, 16), (torch.rand(16, 16) + 0.5).tril()
    axes = [(0, 1), (0, 2), (1, 0), (1, 1)]
    found = resized_at([scores, decay], axes, 25)
    assert found is not None
    assert [tuple(one.shape) for one in found] == [(2, 25, 25), (25, 25)]
    assert torch.equal(found[1], found[1].tril())
    assert bool((found[1].diagonal() != 0).all())
    assert resized_at([scores, decay], axes[2:3], 25) is None


def test_what_a_triangle_has_no_part_in_grows_beside_it() -> None:
    found = resized_at([torch.randn(3, 16, 16), torch.ones(16, 16).tril()], [(0, 0)], 5)
    assert found is not None
    assert found[0].shape == (5, 16, 16)


def test_dimensions_of_few_places_grow_but_for_what_may_broadcast() -> None:
    image = torch.randn(1, 3, 8, 8)
    assert small_dimensions([image, torch.randn(8, 1)]) == [(0, 0), (0, 1)]
    assert growing_together([image, image.clone()], (0, 0)) == [((0, 0), (1, 0))]
    assert growing_together([image, torch.randn(1, 3, 1, 1)], (0, 0)) == []
    assert ((0, 1),) in growing_together([image], (0, 1))


@pytest.mark.parametrize(
    ("tensor", "axis", "new", "stride"),
    [
        (torch.randn(512, 512)[:, :256], 1, 67, (134, 1)),
        (torch.randn(512, 512)[:, :256], 1, 300, (600, 1)),
        (torch.randn(512, 512)[:, :256], 0, 67, (512, 1)),
        (torch.randn(8, 16, 64)[..., :32].transpose(0, 1), 0, 7, (64, 7 * 64, 1)),
        (torch.randn(64, 32)[:, ::2], 1, 9, (18, 2)),
        (torch.randn(64, 100).t(), 0, 9, (1, 9)),
        (torch.randn(100).unfold(0, 8, 4), 1, 7, (7, 1)),
    ],
)
def test_rows_of_a_slice_stay_as_far_apart_in_proportion(
    tensor: torch.Tensor, axis: int, new: int, stride: tuple[int, ...]
) -> None:
    found = resized_at([tensor], [(0, axis)], new)
    assert found is not None
    assert found[0].shape[axis] == new
    assert found[0].stride() == stride
    if new < tensor.shape[axis]:
        assert torch.equal(found[0], tensor.narrow(axis, 0, new))


def test_none_of_a_slice_is_none() -> None:
    found = resized_at([torch.randn(512, 512)[:, :256]], [(0, 1)], 0)
    assert found is not None
    assert found[0].shape == (512, 0)
