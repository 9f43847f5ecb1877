import random

import torch

from workers.referee.draws import DISTRIBUTIONS, cut_along, is_continuous, rebuilt, transformed


def test_masks_labels_and_constants_are_not_scaled() -> None:
    mask = (torch.rand(64, 64) > 0.5).float()
    labels = torch.randint(0, 10, (64,))
    assert not is_continuous(mask)
    assert not is_continuous(labels)
    assert not is_continuous(torch.ones(100))
    assert not is_continuous(torch.full((8,), float("-inf")))
    assert is_continuous(torch.randn(64, 64))


def test_every_distribution_changes_continuous_inputs_only() -> None:
    x, labels = torch.randn(50, 50), torch.arange(50)
    for distribution in DISTRIBUTIONS[1:]:
        changed, same = transformed([x, labels], distribution.transform)
        assert not torch.equal(changed, x)
        assert bool(torch.isfinite(changed).all())
        assert same is labels


def test_mixed_signs_reach_both_signs_of_positive_inputs() -> None:
    mixed = next(one for one in DISTRIBUTIONS if one.name == "mixed signs")
    (changed,) = transformed([torch.rand(1000)], mixed.transform)
    assert bool((changed < 0).any())
    assert bool((changed > 0).any())


def test_cutting_takes_every_tensor_that_shares_the_dimension() -> None:
    tensors = [torch.zeros(64, 10), torch.zeros(64, 3), torch.zeros(10)]
    cut = cut_along(tensors, last=False, generator=random.Random(0))
    assert cut is not None
    rows = cut[0].shape[0]
    assert rows < 64
    assert rows % 2 == 1
    assert cut[1].shape == (rows, 3)
    assert cut[2].shape == (10,)


def test_what_cannot_be_cut_is_left() -> None:
    assert cut_along([torch.zeros(3, 5)], last=False, generator=random.Random(0)) is None
    assert cut_along([], last=True, generator=random.Random(0)) is None


def test_rebuilding_puts_tensors_back_in_order() -> None:
    value = [torch.zeros(1), {"k": (torch.ones(1), 3)}]
    new = rebuilt(value, [torch.full((1,), 5.0), torch.full((1,), 6.0)])
    assert float(new[0]) == 5.0
    assert float(new[1]["k"][0]) == 6.0
    assert new[1]["k"][1] == 3
