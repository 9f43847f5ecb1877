"""Elements that share memory."""

import torch

from workers.ipc.tensors import overlap, shares_memory


def test_expanded_and_overlapping_views_share_memory() -> None:
    assert shares_memory(torch.zeros(4, 1).expand(4, 8))
    assert shares_memory(torch.zeros(32).unfold(0, 8, 1))


def test_dense_turned_and_sliced_ones_do_not() -> None:
    x = torch.zeros(4, 6, 8)
    assert not any(map(shares_memory, (x, x.transpose(0, 2), x[:, ::2, 1:5], x[:0], torch.zeros(()), x[:1].mT)))


def test_windows_of_one_memory_overlap() -> None:
    y = torch.zeros(8, 16)
    assert overlap(y, y)
    assert overlap(y[:, :-1], y[:, 1:])
    assert overlap(y[:, ::2], y[:, ::3])
    assert overlap(y.t(), y)
    assert overlap(y[0], y[:, 0])
    assert overlap(y[:1, :1].expand(8, 16), y)


def test_parts_of_one_memory_do_not_overlap() -> None:
    y, z = torch.zeros(8, 16), torch.zeros(3, 4, 5, 6)
    assert not overlap(y[:, :8], y[:, 8:])
    assert not overlap(y[:, ::2], y[:, 1::2])
    assert not overlap(y[0], y[1:, 0])
    assert not overlap(z[:, 0], z[:, 1:])
    assert not overlap(y, torch.zeros(8, 16))
    assert not overlap(y[:0], y)
