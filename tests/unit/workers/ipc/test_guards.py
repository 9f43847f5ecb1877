"""Bytes around tensors: what is written there is found, and told by the tensor that it belongs to."""

import ctypes

import torch

from workers.ipc.guards import GuardedAllocations, Guards
from workers.ipc.tensors import ALIGNMENT, APART, Block, arranged


def test_a_block_s_tensors_lie_apart() -> None:
    metas = arranged([torch.ones(3), torch.ones(2, 2)], is_apart=True)
    assert [meta.at for meta in metas] == [APART + ALIGNMENT, 2 * APART + 3 * ALIGNMENT]
    assert Block.allocate(metas).raw.numel() == 3 * APART + 3 * ALIGNMENT + 16


def test_writes_within_bounds_are_not_found() -> None:
    given = [torch.ones(3, 5).t(), torch.tensor(2.0), torch.ones(0), torch.ones(2, dtype=torch.int8)]
    block = Block.allocate(arranged(given, is_apart=True))
    guards = Guards(block.raw, block.metas)
    block.write(given)
    assert all(torch.equal(one, other) for one, other in zip(block.tensors, given, strict=True))
    assert guards.found() is None


def test_writes_past_the_end_and_before_the_beginning_name_the_input() -> None:
    for index, offset, said in (
        (0, 12, "28 bytes past the end of input 0"),
        (1, -28, "28 bytes before the beginning of input 1"),
        (1, 20, "28 bytes past the end of input 1"),
    ):
        block = Block.allocate(arranged([torch.ones(3), torch.ones(5)], is_apart=True))
        guards = Guards(block.raw, block.metas)
        place = block.tensors[index].data_ptr() + offset
        ctypes.memmove(place, bytes(255 - byte for byte in ctypes.string_at(place, 28)), 28)
        assert guards.found() == said


def test_a_block_of_nothing_has_no_guards() -> None:
    block = Block.allocate([])
    guards = Guards(block.raw, block.metas)
    block.raw.fill_(1)
    assert guards.found() is None


def test_an_allocation_keeps_values_and_strides_and_is_guarded() -> None:
    allocations = GuardedAllocations()
    given = torch.randn(4, 3).t()
    moved = allocations.moved(given, "clone", is_filled=True)
    assert torch.equal(moved, given)
    assert moved.stride() == given.stride()
    assert allocations.found([]) is None
    place = moved.data_ptr() + 48
    ctypes.memmove(place, bytes(255 - byte for byte in ctypes.string_at(place, 4)), 4)
    assert allocations.found([]) == "4 bytes past the end of a tensor of its own (float32[3, 4], by `clone`)"
    assert allocations.found([torch.ones(1), moved]) == "4 bytes past the end of output 1"


def test_a_tensor_that_grows_has_no_guards() -> None:
    allocations = GuardedAllocations()
    moved = allocations.moved(torch.ones(1), "ones", is_filled=True)
    allocations.let_go(moved)
    moved.resize_(64).fill_(2.0)
    assert allocations.found([moved]) is None


def test_tensors_that_lie_apart_begin_as_far_into_a_page_as_what_pytorch_allocates() -> None:
    block = Block.allocate(arranged([torch.ones(3), torch.ones(1024)], is_apart=True))
    assert [tensor.data_ptr() % APART for tensor in block.tensors] == [ALIGNMENT, 3 * ALIGNMENT]
    block.close()
