"""Memory that referee and runner share for one input set."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch

from workers.ipc.guards import Guards
from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import TensorMeta, arranged, encode, put

POISONED_BYTES = 4 << 20
POISON_BLOCKS, POISON_BLOCK, POISON = 64, 4096, 0xA5


class Slot:
    """Memory for one input set: what the runner sees as inputs, laid out as the problem does, and where it puts
    outputs."""

    def __init__(self, number: int, arguments: Any, output_metas: Sequence[TensorMeta], place: TensorDevice) -> None:
        tensors: list[torch.Tensor] = []
        self.number = number
        self.place = place
        self.arguments = encode(arguments, tensors)
        self.inputs = place.allocate(arranged(tensors, is_apart=True))
        self._guards = Guards(self.inputs.raw, self.inputs.metas)
        size = sum(-(-meta.nbytes // 64) * 64 for meta in output_metas)
        self.takes_outputs = bool(output_metas)
        """Whether there is memory for what a call returns; else it can be timed and not fetched."""
        try:
            self.outputs = place.allocate([TensorMeta(dtype="uint8", shape=(max(64, size),))])
        except BaseException:
            self.inputs.close()
            raise
        self.late = 0
        """How many of the inputs, the last ones, are put in by `deliver`: cotangents, which a forward must not see."""
        self._waiting: list[torch.Tensor] = []
        self.state: int | None = None
        """Number of the values that the parameters are given before a timed call on it; None where they stay."""

    def write(self, tensors: Sequence[torch.Tensor]) -> None:
        """Put inputs in; of late ones, nothing that any call was ever given is left meanwhile."""
        early = len(self.inputs.tensors) - self.late
        self._waiting = list(tensors[early:])
        for target, tensor in zip(self.inputs.tensors, tensors, strict=True):
            if early > 0:
                put(target, tensor)
            else:
                target.view(-1).view(torch.uint8).fill_(POISON)
            early -= 1
        self.place.synchronize()
        self.place.spare()

    def deliver(self) -> None:
        """Put the late inputs in."""
        targets = self.inputs.tensors[len(self.inputs.tensors) - self.late :]
        for target, tensor in zip(targets, self._waiting, strict=True):
            put(target, tensor)

    def written_outside(self) -> str | None:
        """Where something was written past the bounds of an input, in words; None where nothing was."""
        return self._guards.found()

    @property
    def late_bytes(self) -> int:
        """Size of the late inputs."""
        return sum(tensor.nbytes for tensor in self._waiting)

    def sibling(self, number: int, *, own_outputs: bool = False) -> Slot:
        """A slot like this one that shares its memory for outputs, unless it shall have its own."""
        other = copy.copy(self)
        other.number = number
        other.inputs = self.place.allocate(self.inputs.metas)
        other._guards = Guards(other.inputs.raw, other.inputs.metas)
        if own_outputs:
            other.outputs = self.place.allocate(self.outputs.metas)
        return other

    def poison(self) -> None:
        """Make stale outputs unlike any result: all of them, or in large ones blocks that a candidate cannot predict.

        Large ones hold an earlier call's outputs, and no two calls have the same values."""
        raw = self.outputs.raw
        if self.place.is_gpu or raw.numel() <= POISONED_BYTES:
            self.outputs.poison()
            return
        for start in torch.randint(raw.numel() - POISON_BLOCK, (POISON_BLOCKS,)).tolist():
            raw[start : start + POISON_BLOCK] = POISON

    def close(self) -> None:
        """Give the memory back."""
        self.inputs.close()
        self.outputs.close()
