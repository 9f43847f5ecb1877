"""What a candidate must leave in its process as it found it: modes of the processor and of torch that change later
results, and the random numbers of others. It may change none for good in a call, be it one that raises an exception,
nor as it is imported and its model is built.

A kernel may round otherwise or flush denormal numbers while it runs, as long as it puts the mode back, in each thread.
The processor's modes are read by their effects on Python's own floats, or by the C library, so that no native code is
needed; they are those of the thread that calls. Those of the others are read by their effects on a kernel of torch,
seldom in calls, since its time is sampled. What the runner says of this can only count against the candidate.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import platform
import random
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

import torch

T = TypeVar("T")
TEAM = "the arithmetic of the other threads"
_ONE, _THREE, _TEN = 1.0, 3.0, 10.0
_SMALLEST_NORMAL, _SMALLEST = 2.0**-1022, 5e-324
_NEAREST = (0.3333333333333333, 0.1, -0.1)


def _rounding() -> object:
    found = (_ONE / _THREE, _ONE / _TEN, -_ONE / _TEN)
    return "to the nearest" if found == _NEAREST else [value.hex() for value in found]


def _denormals() -> object:
    """A denormal result, and the use of a denormal number."""
    return _SMALLEST_NORMAL * 0.5 > 0.0, _SMALLEST * 2.0**1000 > 0.0


try:
    _MATHS: Any = ctypes.CDLL("libm.so.6")
except OSError:
    _MATHS = None
_WORD, _TRAPS = (7, 0x1F80) if platform.machine() == "x86_64" else (0, 0x9F00)
"""Where the C library's `fenv_t` has the control word, MXCSR or FPCR, and its bits of exceptions."""
_TOLD_BY = torch.tensor([3.0, -3.0, 2.0**-127, 2.0**127, 0.0, 7.0, -7.0, 1.0], dtype=torch.float32)
"""Whose reciprocals tell how a thread rounds, whether it flushes denormal numbers, and that it may divide by zero."""
_OF_EACH = 1 << 15
"""Elements that torch gives each thread."""


def _traps() -> int:
    environment = (ctypes.c_uint32 * 8)()
    if _MATHS is not None:
        _MATHS.fegetenv(environment)
    return int(environment[_WORD]) & _TRAPS


_USUAL_TRAPS = _traps()


def _of_the_team() -> object:
    """Some reciprocals, and whether each thread of the team has the same ones. Where a thread may not divide by zero,
    this ends the process."""
    if _traps() != _USUAL_TRAPS:
        return None
    found = _given_to_all(torch.get_num_threads()).reciprocal()
    start, period = found.data_ptr(), _TOLD_BY.nbytes
    is_same = ctypes.CDLL(None).memcmp(
        ctypes.c_void_p(start), ctypes.c_void_p(start + period), ctypes.c_size_t(found.nbytes - period)
    )
    return found[: _TOLD_BY.numel()].numpy().tobytes(), is_same == 0


@functools.cache
def _given_to_all(threads: int) -> torch.Tensor:
    return _TOLD_BY.repeat(threads * _OF_EACH // _TOLD_BY.numel())


def _of_numpy() -> object:
    """The state of NumPy's random numbers; None where that part of NumPy is not imported."""
    module = sys.modules.get("numpy.random")
    if module is None:
        return None
    name, key, *rest = module.get_state()
    return name, key.tobytes(), *rest


_READ: dict[str, Callable[[], object]] = {
    "the rounding mode": _rounding,
    "the treatment of denormal numbers": _denormals,
    "what arithmetic ends the process": _traps,
    TEAM: _of_the_team,
    "the default dtype": torch.get_default_dtype,
    "the default device": torch.get_default_device,
    "autocast": lambda: [(torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in ("cpu", "cuda")],
    "the number of threads": torch.get_num_threads,
    "the seed of the random numbers": torch.initial_seed,
    "the state of the random numbers": lambda: torch.get_rng_state().numpy().tobytes(),
    "whether gradients are recorded": torch.is_grad_enabled,
    "inference mode": torch.is_inference_mode_enabled,
    "the precision of float32 products": torch.get_float32_matmul_precision,
    "the state of Python's random numbers": random.getstate,
    "the state of NumPy's random numbers": _of_numpy,
}
"""Bound before a candidate is loaded."""
_OF_OTHERS = ("the state of Python's random numbers", "the state of NumPy's random numbers")
FREE_TO_BUILD = ("the number of threads", "the state of the random numbers", *_OF_OTHERS)
"""What a module's import and a model's building may change: parameters are drawn then."""
FREE_TO_REFUSE = ("the state of the random numbers", *_OF_OTHERS)
"""What a call that raises an exception may change: it may have drawn some numbers."""


def own_bytes() -> int:
    """Resident memory of this process that it shares with nobody, in bytes; 0 where the system does not say."""
    try:
        resident, shared = map(int, Path("/proc/self/statm").read_text(encoding="ascii").split()[1:3])
    except OSError:
        return 0
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def process_state(*, team: bool = True) -> dict[str, object]:
    """Each mode as it is now, by its name; without `team`, those of the calling thread alone."""
    return {name: read() for name, read in _READ.items() if team or name != TEAM}


def changed_since(before: dict[str, object], *, free: Collection[str] = ()) -> tuple[str, ...]:
    """The names of those that are not what they were, but for those that are free to change."""
    known = {name: value for name, value in before.items() if value is not None and name not in free}
    changed = tuple(name for name, value in known.items() if _READ[name]() != value)
    return tuple(name for name in changed if name != TEAM or len(changed) == 1)


def seeds_of_others(
    act: Callable[[], T], again: Callable[[], object], *, asks: bool = True
) -> tuple[T, tuple[str, ...]]:
    """What an act gives, and which random numbers other than torch's it seeds, if anybody asks. To draw some is no
    offence: where it has touched their state, that is put elsewhere, and what is the same `again` was seeded."""
    before = _states_of_others()
    given, left = act(), _states_of_others()
    touched = [name for name in _OF_OTHERS if left[name] != before[name]]
    if not (touched and asks):
        return given, ()
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    with contextlib.suppress(Exception):  # a module that cannot be imported twice
        again()
    now = _states_of_others()
    return given, tuple(
        f"the seed of {name.removeprefix('the state of ')}" for name in touched if now[name] == left[name]
    )


def _states_of_others() -> dict[str, object]:
    return {name: _READ[name]() for name in _OF_OTHERS}
