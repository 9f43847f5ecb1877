"""Whole numbers that say where something is stay right when what they point into is cut or grows."""

import random

import pytest
import torch

from workers.referee.inputs.resize import cut_sizes, parts, resized


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
    cuts = list(cut_sizes([torch.randn(64, 300, 16), index], random.Random(1)))
    (cut,) = [one for one in cuts if one[0].shape[1] < 300]
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
