"""Several calls on a GPU in one go, each timed by a pair of events. What it says are claims, like all of the runner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

LEAST_FLUSH_BYTES = 64 << 20
SLEEP_CYCLES = 250_000
"""About 0.13 ms, in which the host can launch ahead: else its speed at launching would be timed, not the kernels."""
_flush: list[torch.Tensor] = []


@dataclass(kw_only=True)
class Batch:
    """What some calls returned, and how long the events say they took."""

    outputs: list[Any]
    seconds: list[float]
    slots: list[Any] = field(default_factory=list)


def run_batch(model: Callable[..., Any], arguments: Sequence[Sequence[Any]], wait: Callable[[], None]) -> Batch:
    """Call the model on each set of arguments. Every call begins with a cold cache and ends with a device-wide wait."""
    flush = _flush_buffer()
    events = [(_event(), _event()) for _ in arguments]
    outputs = []
    wait()
    for given, (start, end) in zip(arguments, events, strict=True):
        flush.zero_()
        torch.cuda._sleep(SLEEP_CYCLES)  # type: ignore[no-untyped-call]
        start.record()
        outputs.append(model(*given))
        end.record()
        wait()
    return Batch(outputs=outputs, seconds=[1e-3 * start.elapsed_time(end) for start, end in events])


def _event() -> Any:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def _flush_buffer() -> torch.Tensor:
    """Twice the size of the last-level cache."""
    if not _flush:
        cache = torch.cuda.get_device_properties(0).L2_cache_size
        _flush.append(torch.empty(max(2 * cache, LEAST_FLUSH_BYTES), dtype=torch.uint8, device="cuda"))
    return _flush[0]
