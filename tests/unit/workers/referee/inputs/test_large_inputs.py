"""What is measured on a part of large tensors, and which part."""

from __future__ import annotations

import pytest
import torch

from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import TensorMeta
from workers.referee.inputs.float8 import EIGHT_BITS
from workers.referee.inputs.large_inputs import LARGE_BYTES, is_large, telling_part


class Card(TensorDevice):
    """A place that says that it is a GPU."""

    is_gpu = True


def test_a_spike_is_in_the_part_that_tells_how_exact_a_reference_is() -> None:
    for row in (0, 37, 99):
        x = torch.rand(100, 8)
        x[row, 3] = -1e4
        part = telling_part([x, 2.0, torch.rand(8)], [x], most=x.nbytes // 4)
        assert part is not None
        assert part[0].shape == (12, 8)
        assert float(part[0].min()) == -1e4
        assert part[1] == 2.0
        assert part[2].shape == (8,)


@pytest.mark.parametrize("dtype", EIGHT_BITS)
def test_so_it_is_among_numbers_of_eight_bits(dtype: torch.dtype) -> None:
    x = (torch.rand(100, 8) + 0.5).to(dtype)
    x.view(torch.uint8)[37, 3] = torch.tensor(-96.0).to(dtype).view(torch.uint8)
    part = telling_part([x], [x], most=x.nbytes // 4)
    assert part is not None
    assert float(part[0].float().min()) == -96.0


def test_every_tensor_with_the_same_leading_size_is_cut_alike() -> None:
    x, y = torch.rand(64, 32), torch.rand(64, 32)
    part = telling_part([x, y], [torch.zeros(())], most=x.nbytes)
    assert part is not None
    rows = next(row for row in range(64) if torch.equal(part[0][0], x[row]))
    assert torch.equal(part[1], y[rows : rows + 31])


def test_small_arguments_and_those_that_no_cut_keeps_are_taken_whole() -> None:
    x = torch.rand(64, 64)
    assert telling_part([x], [x], most=2 * x.nbytes) is None
    assert telling_part([x + x.T], [x], most=x.nbytes) is None
    assert telling_part([torch.rand(())], [], most=1) is None
    assert telling_part([torch.rand(1, 64)], [], most=100) is None


def test_a_triangle_is_cut_from_its_beginning() -> None:
    x = torch.rand(64, 64).triu()
    part = telling_part([x], [x], most=x.nbytes)
    assert part is not None
    assert torch.equal(part[0], x[:32])


def test_only_a_gpus_memory_is_too_small_for_large_tensors() -> None:
    x, out = torch.rand(4), [TensorMeta(dtype="float32", shape=(LARGE_BYTES // 4,))]
    assert is_large(Card(), [x], out)
    assert not is_large(Card(), [x], [TensorMeta.of(x)])
    assert not is_large(TensorDevice(), [x], out)
