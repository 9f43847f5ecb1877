"""Bytes around tensors that nobody may write: where they are changed, somebody wrote past a tensor's bounds.

Two places have them. A slot's inputs lie apart in their shared block (`workers.ipc.tensors.arranged` with `is_apart`),
and the referee itself looks at what is between and around them after each judged call: `Guards`. Memory that a
candidate allocates by torch in its own process (outputs, what it needs meanwhile) has them in calls that are observed
and leave no figure: `GuardedAllocations`. There the candidate's process looks, which nobody trusts: what it sees counts
against the candidate, what it does not see proves nothing.

Why not by the C library's allocator: its own slack is a few bytes, its settings leave ends alone, and a wrapper would
be in the way of every call, those that are timed too. Timed calls are as they are without guards: those of inputs are
memory that is there anyway, and looked at while the candidate's process is stopped.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from workers.ipc.tensors import APART, TensorMeta

MOST_BYTES = 1 << 30
"""Larger pieces stay where they are: there may be no room for another."""
KEPT_BYTES = 256 << 20
"""Of memory with guards in the runner: beyond it, what was allocated first is looked at and let go of."""


@dataclass(frozen=True, kw_only=True)
class _Zone:
    """Bytes between two tensors."""

    bytes_of_it: torch.Tensor
    pattern: torch.Tensor
    before: int | None
    """Index of the tensor that ends where it begins."""
    after: int | None

    def found(self) -> str | None:
        """What was written here, in words; None where nothing was."""
        if self._is_as_drawn():
            return None
        places = (self.bytes_of_it != self.pattern).nonzero()[:, 0]
        first, last, size = int(places[0]), int(places[-1]), self.pattern.numel()
        if self.before is not None and (self.after is None or first <= size - 1 - last):
            return f"{last + 1} bytes past the end of input {self.before}"
        return f"{size - first} bytes before the beginning of input {self.after}"

    def _is_as_drawn(self) -> bool:
        """On the CPU by a comparison of bytes, since this is asked after every judged call."""
        if not self.bytes_of_it.is_cpu:
            return torch.equal(self.bytes_of_it, self.pattern)
        size = self.pattern.numel()
        return ctypes.string_at(self.bytes_of_it.data_ptr(), size) == ctypes.string_at(self.pattern.data_ptr(), size)


class Guards:
    """What lies around the tensors of one block, filled with bytes that are drawn anew for each block."""

    def __init__(self, raw: torch.Tensor, metas: Sequence[TensorMeta]) -> None:
        """`raw` is all of the block as bytes, `metas` say where the tensors lie in it."""
        self._zones: list[_Zone] = []
        taken = sorted((meta.at or 0, meta.end, index) for index, meta in enumerate(metas) if meta.nbytes)
        end: int = 0
        before: int | None = None
        for start, stop, index in taken:
            self._add(raw, end, start, before, index)
            if stop >= end:
                end, before = stop, index
        self._add(raw, end, raw.numel(), before, None)

    def _add(self, raw: torch.Tensor, end: int, start: int, before: int | None, after: int | None) -> None:
        """Guards from the end of a tensor on to the next one's beginning; of a wide gap its rims alone."""
        rims = [(end, start, before, after)]
        if start - end > 2 * APART:
            rims = [(end, end + APART, before, None), (start - APART, start, None, after)]
        for first, last, left, right in rims:
            if first < last and (left is not None or right is not None):
                pattern = _drawn(last - first).to(raw.device)
                raw[first:last] = pattern
                self._zones.append(_Zone(bytes_of_it=raw[first:last], pattern=pattern, before=left, after=right))

    def found(self) -> str | None:
        """What was written outside of the tensors, in words; None where nothing was."""
        return next((said for zone in self._zones if (said := zone.found()) is not None), None)


class GuardedAllocations:
    """Memory that torch's operators give in one call, each piece moved to a place with guards on both sides."""

    def __init__(self) -> None:
        self._pattern = _drawn(APART)
        self._kept: list[tuple[torch.Tensor, torch.Tensor, int, str]] = []
        """All bytes of a piece, the tensor in it, how many bytes that has, and what it is called."""
        self._bytes = 0
        self._found: str | None = None

    def moved(self, tensor: torch.Tensor, name: str, *, is_filled: bool) -> torch.Tensor:
        """A tensor like a new one, with the same values where it `is_filled`, between guards. Nothing is moved while a
        CUDA graph is captured: looking at guards has to wait for the device, which is not allowed then."""
        if tensor.is_cuda and torch.cuda.is_current_stream_capturing():
            return tensor
        places = [(size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)]
        size = (1 + sum(places)) * tensor.element_size()
        if size > MOST_BYTES:
            return tensor
        raw = torch.empty(size + 2 * APART, dtype=torch.uint8, device=tensor.device)
        self._pattern = self._pattern.to(tensor.device)
        raw[:APART] = self._pattern
        raw[APART + size :] = self._pattern
        inside = raw[APART : APART + size].view(tensor.dtype).as_strided(tensor.shape, tensor.stride())
        if is_filled:
            inside.copy_(tensor)
        self._kept.append((raw, inside, size, name))
        self._bytes += size
        while self._bytes > KEPT_BYTES and len(self._kept) > 1:
            self._found = self._found or self._examined(self._kept[0], ())
            self._bytes -= self._kept.pop(0)[2]
        return inside

    def let_go(self, tensor: torch.Tensor) -> None:
        """Have no guards around a tensor any more: it is about to become larger."""
        storage = _storage_of(tensor)
        self._kept = [one for one in self._kept if _storage_of(one[0]) != storage]

    def found(self, outputs: Sequence[torch.Tensor]) -> str | None:
        """What was written outside of the tensors, in words that say which; None where nothing was."""
        said = (self._examined(one, outputs) for one in self._kept)
        return self._found or next((one for one in said if one is not None), None)

    def _examined(
        self, kept: tuple[torch.Tensor, torch.Tensor, int, str], outputs: Sequence[torch.Tensor]
    ) -> str | None:
        raw, inside, size, name = kept
        if raw.untyped_storage().nbytes() != size + 2 * APART:  # its storage was given another size
            return None
        pattern = self._pattern.to(raw.device)
        past, before = raw[APART + size :] != pattern, raw[:APART] != pattern
        if not bool(past.any() | before.any()):
            return None
        storage = raw.untyped_storage().data_ptr()
        indices = [index for index, one in enumerate(outputs) if _storage_of(one) == storage]
        shown = f"{str(inside.dtype).removeprefix('torch.')}{list(inside.shape)}"
        which = f"output {indices[0]}" if indices else f"a tensor of its own ({shown}, by `{name}`)"
        if bool(past.any()):
            return f"{int(past.nonzero()[-1]) + 1} bytes past the end of {which}"
        return f"{APART - int(before.nonzero()[0])} bytes before the beginning of {which}"


def is_movable(tensor: object) -> bool:
    """Whether a value is a plain tensor with memory that has bounds."""
    return (
        type(tensor) is torch.Tensor
        and tensor.layout is torch.strided
        and tensor.device.type in ("cpu", "cuda")
        and tensor.numel() > 0
        and not (tensor.is_conj() or tensor.is_neg())
    )


def _storage_of(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else 0


def _drawn(count: int) -> torch.Tensor:
    """Random bytes, none of them 0, which is written most."""
    return torch.frombuffer(bytearray(os.urandom(count)), dtype=torch.uint8) | 1
