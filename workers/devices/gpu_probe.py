"""Entry of a GPU's measurement: what copies, products and empty launches achieve. Runs in a sandbox."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any

import torch

from services.domain.events import JsonValue
from workers.ipc.wire import Channel

LARGE_BYTES = 2 << 30
PRODUCT = 8192
TRIALS = 8


def serve(connection: socket.socket) -> None:
    """Measure and send the figures."""
    channel = Channel(connection)
    channel.send(measure())
    os._exit(0)


def identify(connection: socket.socket) -> None:
    """Send how many cards CUDA sees here, and the UUID of the first."""
    properties = torch.cuda.get_device_properties(0)
    uuid = getattr(properties, "uuid", None)  # torch before 2.5 does not tell it
    Channel(connection).send({"cards": torch.cuda.device_count(), "uuid": None if uuid is None else str(uuid)})
    os._exit(0)


def measure() -> dict[str, JsonValue]:
    """Copies beyond and in the cache (GB/s read plus written), products in fp32 and fp16 (GFLOP/s), a launch (µs)."""
    torch.backends.cuda.matmul.allow_tf32 = False
    properties = torch.cuda.get_device_properties(0)
    cache = int(properties.L2_cache_size)
    return {
        "units": properties.multi_processor_count,
        "cache_bytes": cache,
        "peak_gflop_s": _product(torch.float32, PRODUCT // 2),
        "peak_half_gflop_s": _product(torch.float16, PRODUCT),
        "copy_bandwidth_gb_s": _copy(LARGE_BYTES),
        "cache_bandwidth_gb_s": max(_copy(cache // 3, 50), _copy(LARGE_BYTES)),
        "launch_us": _launch(),
    }


def _seconds(function: Callable[[], object], repeats: int = 1) -> float:
    """The best of some runs, by events."""
    function()
    best = float("inf")
    for _ in range(TRIALS):
        start, end = _event(), _event()
        start.record()
        for _ in range(repeats):
            function()
        end.record()
        torch.cuda.synchronize()
        best = min(best, 1e-3 * start.elapsed_time(end) / repeats)
    return best


def _event() -> Any:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def _copy(size: int, repeats: int = 1) -> float:
    source = torch.empty(size // 4, dtype=torch.float32, device="cuda").uniform_()
    target = torch.empty_like(source)
    return 2 * size / _seconds(lambda: target.copy_(source), repeats) / 1e9


def _product(dtype: torch.dtype, size: int) -> float:
    left = torch.randn(size, size, device="cuda").to(dtype)
    right = torch.randn(size, size, device="cuda").to(dtype)
    return 2.0 * size**3 / _seconds(lambda: left @ right) / 1e9


def _launch() -> float:
    """An empty kernel as events see it: what the smallest call costs."""
    tensor = torch.zeros(1, device="cuda")
    return 1e6 * _seconds(lambda: tensor.zero_(), 100)
