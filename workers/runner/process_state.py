"""What a candidate must leave in its process as it found it: modes of the processor and of torch that change later
results. It may change none for good in a call, nor as it is imported and its model is built.

A kernel may round otherwise or flush denormal numbers while it runs, as long as it puts the mode back. The processor's
modes are read by their effects on Python's own floats, so that no native code is needed; they are those of the thread
that calls. What the runner says of this can only count against the candidate.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path

import torch

_ONE, _THREE, _TEN = 1.0, 3.0, 10.0
_SMALLEST_NORMAL, _SMALLEST = 2.0**-1022, 5e-324
_NEAREST = (0.3333333333333333, 0.1, -0.1)


def _rounding() -> object:
    found = (_ONE / _THREE, _ONE / _TEN, -_ONE / _TEN)
    return "to the nearest" if found == _NEAREST else [value.hex() for value in found]


def _denormals() -> object:
    """A denormal result, and the use of a denormal number."""
    return _SMALLEST_NORMAL * 0.5 > 0.0, _SMALLEST * 2.0**1000 > 0.0


_READ: dict[str, Callable[[], object]] = {
    "the rounding mode": _rounding,
    "the treatment of denormal numbers": _denormals,
    "the default dtype": torch.get_default_dtype,
    "the number of threads": torch.get_num_threads,
    "the seed of the random numbers": torch.initial_seed,
    "the state of the random numbers": lambda: torch.get_rng_state().numpy().tobytes(),
    "whether gradients are recorded": torch.is_grad_enabled,
    "inference mode": torch.is_inference_mode_enabled,
    "the precision of float32 products": torch.get_float32_matmul_precision,
}
"""Bound before a candidate is loaded."""
FREE_TO_BUILD = ("the number of threads", "the state of the random numbers")
"""What a module's import and a model's building may change: parameters are drawn then."""


def own_bytes() -> int:
    """Resident memory of this process that it shares with nobody, in bytes; 0 where the system does not say."""
    try:
        resident, shared = map(int, Path("/proc/self/statm").read_text(encoding="ascii").split()[1:3])
    except OSError:
        return 0
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def process_state() -> dict[str, object]:
    """Each mode as it is now, by its name."""
    return {name: read() for name, read in _READ.items()}


def changed_since(before: dict[str, object], *, free: Collection[str] = ()) -> tuple[str, ...]:
    """The names of those that are not what they were, but for those that are free to change."""
    return tuple(name for name, value in process_state().items() if value != before[name] and name not in free)
