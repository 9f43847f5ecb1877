"""Which descriptors belong to which block of a message, and into what pieces large blocks are cut."""

from __future__ import annotations

import pytest

from services.domain.errors import InfrastructureError
from workers.ipc.cuda_memory import GRANULARITY, MAX_PIECES, PIECE_BYTES, piece_sizes
from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import DataError, TensorMeta, descriptors_of


def test_every_piece_of_a_block_has_a_descriptor() -> None:
    handles = [{"sizes": [4, 4, 2]}, {}, {"sizes": [1]}]
    found = [descriptors_of((10, 11, 12, 13, 14), handles, index) for index in range(3)]
    assert found == [(10, 11, 12), (13,), (14,)]


@pytest.mark.parametrize("size", [1, GRANULARITY, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES - 5])
def test_pieces_hold_what_they_must_and_little_more(size: int) -> None:
    sizes = piece_sizes(size)
    assert size <= sum(sizes) < size + GRANULARITY
    assert all(0 < piece <= PIECE_BYTES and piece % GRANULARITY == 0 for piece in sizes)


def test_more_than_can_cross_is_said_in_mib() -> None:
    with pytest.raises(InfrastructureError, match="28674 MiB of tensors in one set exceed the 28672 MiB"):
        piece_sizes(MAX_PIECES * PIECE_BYTES + GRANULARITY)


def test_a_block_of_host_memory_has_one_descriptor() -> None:
    with pytest.raises(DataError, match="one descriptor, not 2"):
        TensorDevice().attach((3, 4), {}, [TensorMeta(dtype="float32", shape=(2,))])
