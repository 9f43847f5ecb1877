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
_Event: Any = getattr(torch._C, "_CudaEventBase", None)
_Stream: Any = getattr(torch._C, "_CudaStreamBase", None)
_current_stream: Any = getattr(torch._C, "_cuda_getCurrentStream", None)
_record: Any = getattr(_Event, "record", None)
_elapsed_ms: Any = getattr(_Event, "elapsed_time", None)
_is_over: Any = getattr(_Event, "query", None)
"""Bound before a candidate is loaded: it can replace what `torch.cuda` offers, and not what lies below."""


@dataclass(kw_only=True)
class Batch:
    """What some calls returned, and how long the events say they took."""

    outputs: list[Any]
    seconds: list[float]
    late: int = 0
    """Calls that the device began before all of it was launched: it waited for the host."""
    slots: list[Any] = field(default_factory=list)


def run_batch(
    model: Callable[..., Any],
    arguments: Sequence[Sequence[Any]],
    wait: Callable[[], None],
    before: Sequence[Callable[[], None]] = (),
) -> Batch:
    """Call the model on each set of arguments. Every call begins with a cold cache and ends with a device-wide wait;
    what is done `before` each is not timed."""
    flush = _flush_buffer()
    events = [(_Event(enable_timing=True), _Event(enable_timing=True)) for _ in arguments]
    outputs, late = list[Any](), 0
    wait()
    for index, (given, (start, end)) in enumerate(zip(arguments, events, strict=True)):
        if before:
            before[index]()
        flush.zero_()
        torch.cuda._sleep(SLEEP_CYCLES)  # type: ignore[no-untyped-call]
        stream = _current_stream(0)
        _record(start, _Stream(stream_id=stream[0], device_index=stream[1], device_type=stream[2]))
        outputs.append(model(*given))
        if _current_stream(0) != stream:
            raise RuntimeError("forward leaves another CUDA stream current than it was called on")
        late += bool(_is_over(start))
        _record(end, _Stream(stream_id=stream[0], device_index=stream[1], device_type=stream[2]))
        wait()
    return Batch(outputs=outputs, seconds=[1e-3 * _elapsed_ms(start, end) for start, end in events], late=late)


def _flush_buffer() -> torch.Tensor:
    """Twice the size of the last-level cache."""
    if not _flush:
        cache = torch.cuda.get_device_properties(0).L2_cache_size
        _flush.append(torch.empty(max(2 * cache, LEAST_FLUSH_BYTES), dtype=torch.uint8, device="cuda"))
    return _flush[0]
