"""Calls as another caller may make them: nothing that tells a runner from a caller decides what a kernel is judged on.

A runner calls without gradients, on arguments that lie in one piece of shared memory, with OpenMP's variables set and
under a seed of its own; what it allocates often holds what an earlier call has left. A caller may record gradients, has
arguments that torch allocated one by one, sets other variables or none, and has left anything in memory. Each of these
is so in some of the calls of which no figure is taken, whatever the others are.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from workers.ipc.placement import M_MMAP_MAX, M_PERTURB
from workers.ipc.tensors import extent_of, flatten, mapped, put
from workers.runner.protocol import Manner

VARIABLES = {
    "OMP_NUM_THREADS": "",
    "OMP_WAIT_POLICY": "passive",
    "OMP_PROC_BIND": "false",
    "MKL_NUM_THREADS": "",
}
"""What the screen lets kernels ask the environment for, and what it may say there; empty for the number of threads."""
DEFAULT_SEED = 67280421310721
"""Of torch's random numbers in a process where nobody has set one."""
EITHER = 0.5
GARBAGE = (0x01, 0x80)
"""Bytes whose opposites the C library fills allocated memory with: floats of about 1e38, whole numbers out of range."""
MMAP_MAX = 65536
"""As glibc has it by itself."""


def exchange_variables(threads: int) -> None:
    """Take the variables out of the environment that are there, and set those that are not."""
    for name, value in VARIABLES.items():
        if os.environ.pop(name, None) is None:
            os.environ[name] = value or str(threads)


@contextlib.contextmanager
def surroundings(manner: Manner) -> Iterator[None]:
    """Gradients, variables of the environment, the seed and new memory as `manner` has them, until the end of the
    call."""
    with torch.enable_grad() if Manner.GRADIENTS in manner else contextlib.nullcontext(), _new_memory(manner):
        if Manner.SETTINGS not in manner:
            yield
            return
        generator = torch.default_generator
        before, variables = generator.get_state(), {name: os.environ.get(name) for name in VARIABLES}
        exchange_variables(torch.get_num_threads())
        generator.manual_seed(DEFAULT_SEED)
        try:
            yield
        finally:
            generator.set_state(before)
            for name, value in variables.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


class OwnMemory:
    """Copies of a call's arguments, each allocated by torch and exactly as large as it is, with the same strides.

    Tensors that have memory in common with others stay where they are."""

    def __init__(self, arguments: Sequence[Any], *, require_gradients: bool = False) -> None:
        """`require_gradients`: all copies of floats do."""
        alone = _alone(flatten(arguments))
        self._pairs: list[tuple[torch.Tensor, torch.Tensor]] = []

        def copied(tensor: torch.Tensor) -> torch.Tensor:
            if tensor.data_ptr() not in alone:
                return tensor
            copy = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
            put(copy, tensor)
            is_differentiable = tensor.is_floating_point() and tensor.dtype.itemsize > 1
            self._pairs.append((tensor, copy.requires_grad_(require_gradients and is_differentiable)))
            return copy

        with _memory_of_either_kind():
            self.arguments: list[Any] = mapped(list(arguments), copied)

    def write_back(self) -> None:
        """Leave in the arguments what a call has left in their copies; where that has another shape, other values than
        there were."""
        for tensor, copy in self._pairs:
            put(tensor, copy.detach() if copy.shape == tensor.shape else tensor.logical_not().to(tensor.dtype))


def _alone(tensors: Sequence[torch.Tensor]) -> set[int]:
    """Addresses of tensors that have no memory in common with others."""
    spans = sorted(
        (one.data_ptr(), one.data_ptr() + extent_of(one.shape, one.stride()) * one.element_size())
        for one in tensors
        if one.numel()
    )
    found, taken = set[int](), 0
    for index, (start, end) in enumerate(spans):
        if start >= taken and (index + 1 == len(spans) or spans[index + 1][0] >= end):
            found.add(start)
        taken = max(taken, end)
    return found


def _memory_of_either_kind() -> contextlib.AbstractContextManager[None]:
    """Have the C library map large pieces of memory one by one, as it does by itself, or not: a caller has either."""
    is_usual = random.SystemRandom().random() < EITHER
    return contextlib.nullcontext() if is_usual else _allocating(M_MMAP_MAX, MMAP_MAX)


def _new_memory(manner: Manner) -> contextlib.AbstractContextManager[None]:
    """Have the C library fill what it allocates with garbage, where the manner is so."""
    if Manner.GARBAGE not in manner:
        return contextlib.nullcontext()
    return _allocating(M_PERTURB, random.SystemRandom().choice(GARBAGE))


@contextlib.contextmanager
def _allocating(setting: int, value: int) -> Iterator[None]:
    """Inside, the C library allocates with a setting, which is 0 elsewhere."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", lambda _setting, _value: 0)
    mallopt(setting, value)
    try:
        yield
    finally:
        mallopt(setting, 0)
