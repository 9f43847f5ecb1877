"""Outputs of the model: copied into the referee's memory, and described. What is said of them are claims."""

from __future__ import annotations

import ctypes
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from workers.ipc.tensors import TensorMeta, begins_in, flatten, overlap, shares_memory
from workers.runner.answers import MAX_ELEMENTS, MAX_NAME, OutputClaim

INFERENCE, RECORDED = "an inference tensor", "a tensor that requires gradients"
LEAST_IN_PARTS = 64 << 10
"""Bytes of an output from which on it is copied in parts."""
PARTS = 16
_shuffled = random.SystemRandom()


def write(items: Sequence[Any], target: torch.Tensor) -> bool:
    """Copy outputs as dense bytes, one after the other, each at a multiple of 64; False when they do not fit."""
    offset = 0
    for item in items:
        if type(item) is not torch.Tensor or item.layout is not torch.strided or item.device != target.device:
            return False
        count = item.numel() * item.element_size()
        if offset + count > target.numel():
            return False
        _copy(item, target[offset : offset + count])
        offset += -(-count // 64) * 64
    return True


def _copy(item: torch.Tensor, target: torch.Tensor) -> None:
    """Copy an output's elements; by one thread where it is dense, so that the time depends on size alone. On the CPU in
    an order that nobody knows: what is still being computed cannot keep ahead of the copy."""
    if item.is_contiguous() and item.is_cpu and not (item.is_conj() or item.is_neg()):
        for start, end in _parts(target.numel()):
            ctypes.memmove(target.data_ptr() + start, item.data_ptr() + start, end - start)
        return
    written = target.view(item.dtype).view(item.shape)
    if not item.is_cpu or item.dim() == 0 or target.numel() < LEAST_IN_PARTS:
        written.copy_(item)
        return
    for start, end in _parts(item.shape[0], 1):
        written[start:end].copy_(item[start:end])


def _parts(size: int, least: int = LEAST_IN_PARTS) -> list[tuple[int, int]]:
    """Where parts of something begin and end, in random order; one part of less than `least`."""
    count = PARTS if size >= least else 1
    borders = [size * index // count for index in range(count + 1)]
    return _shuffled.sample(list(itertools.pairwise(borders)), count)


def describe_output(
    item: Any, inputs: Sequence[torch.Tensor], device: torch.device, shared: str | None, *, records: bool = False
) -> OutputClaim:
    """What an output is, and how it lies in memory; `shared` names what it has elements in common with, and `records`
    says whether gradients were recorded, or asked of arguments."""
    if type(item) is not torch.Tensor:
        return OutputClaim(kind=f"{type(item).__module__}.{type(item).__qualname__}"[:MAX_NAME], shared=shared)
    if item.is_nested:
        return OutputClaim(kind="a nested tensor", shared=shared)
    if item.device.type != device.type:
        return OutputClaim(kind=f"a tensor on the {item.device.type}", shared=shared)
    written_out = item.layout is torch.strided and not (shares_memory(item) or item.is_conj() or item.is_neg())
    return OutputClaim(
        kind="tensor",
        meta=TensorMeta.of(item),
        alias=_alias(item, inputs),
        written_out=written_out,
        strides=_strides(item) if item.layout is torch.strided else None,
        shared=shared,
        mode=mode_of(item, records=records),
    )


def mode_of(item: torch.Tensor, *, records: bool = False) -> str | None:
    """What an output is that was made in another mode of torch than its caller's, who can neither change an inference
    tensor nor use it in a graph; with `records`, gradients are his."""
    if item.is_inference():
        return INFERENCE
    return RECORDED if item.requires_grad and not records else None


def _strides(item: torch.Tensor) -> tuple[int, ...]:
    """How an output lies; 0, which no dense output has, for a stride that no memory has."""
    return tuple(stride if stride < MAX_ELEMENTS else 0 for stride in item.stride())


def overwrite(items: Sequence[Any], described: Sequence[OutputClaim]) -> None:
    """Write other values over outputs that lie in memory of their own, as their caller may: no kernel's later result
    depends on what becomes of them."""
    for item, claim in zip(items, described, strict=True):
        if claim.kind != "tensor" or claim.alias is not None or claim.shared is not None or not claim.written_out:
            continue
        own = item.detach()
        if own.is_cpu and own.is_contiguous():  # no library's kernel: its time would be sampled
            ctypes.memset(own.data_ptr(), 1 if own.dtype is torch.bool else 0xFF, own.nbytes)
        elif item.dtype is torch.bool:
            own.logical_not_()
        elif item.is_floating_point() or item.is_complex():
            own.fill_(float("nan"))
        else:
            own.bitwise_not_()


def shared_with(item: torch.Tensor, earlier: Sequence[torch.Tensor], state: Sequence[torch.Tensor]) -> str | None:
    """What an output has elements in common with, besides the inputs: an earlier output, or the model itself."""
    if type(item) is not torch.Tensor or item.layout is not torch.strided:
        return None
    for index, other in enumerate(earlier):
        if type(other) is torch.Tensor and other.layout is torch.strided and overlap(item, other):
            return f"output {index}"
    return "a parameter or buffer of the model" if _alias(item, state) is not None else None


def keeps_outputs(model: Callable[..., Any], arguments: Sequence[Any], others: Sequence[torch.Tensor] = ()) -> bool:
    """Whether memory of one call's outputs is there when nobody but the model can hold it; outputs that lie in
    `others`, which are arguments and the model's own tensors, are left out."""
    weak = [
        StorageWeakRef(one.untyped_storage())  # type: ignore[no-untyped-call]
        for one in flatten(model(*arguments))
        if one.layout is torch.strided and one.numel() and _alias(one, others) is None
    ]
    return not all(one.expired() for one in weak)  # type: ignore[no-untyped-call]


def _alias(item: torch.Tensor, inputs: Sequence[torch.Tensor]) -> int | None:
    """Index of the input whose memory an output lies in."""
    return next((index for index, tensor in enumerate(inputs) if begins_in(item, tensor)), None)
