"""Calls on a GPU under conditions in which work that is not joined with the current stream shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

CYCLES_A_US = 2000
POOL = 32
"""Streams that torch keeps for each priority; every `torch.cuda.Stream` is one of them."""
PRIORITIES = (0, -1)


def run_held_up(
    model: Callable[..., Any],
    arguments: Sequence[Any],
    pairs: Sequence[tuple[torch.Tensor, torch.Tensor]],
    delay_us: int,
    *,
    hold: bool,
) -> Any:
    """Call the model; its inputs get their values (each pair's second) late, in the order of the current stream.

    With `hold` every other stream of torch's is held up three times as long. A call that waits for its inputs and
    joins what it starts elsewhere is as right as ever: it only takes longer."""
    for stream in _pool() if hold else ():
        with torch.cuda.stream(stream):
            _sleep(3 * delay_us)
    _sleep(delay_us)
    for target, source in pairs:
        target.copy_(source)
    return model(*arguments)


def captured(model: Callable[..., Any], arguments: Sequence[Any]) -> str:
    """What CUDA says when it is to record a call as a graph; nothing where that works.

    It knows which work depends on what: where work that was forked to another stream is never joined, it refuses."""
    graph, stream = torch.cuda.CUDAGraph(), _stream(0)
    stream.wait_stream(torch.cuda.current_stream())
    said = []
    with torch.cuda.stream(stream):
        try:
            graph.capture_begin(capture_error_mode="relaxed")
            model(*arguments)
        except Exception as error:  # noqa: BLE001 - many honest calls cannot be recorded
            said.append(str(error))
        try:
            graph.capture_end()
        except Exception as error:  # noqa: BLE001 - this is what was asked for
            said.append(str(error))
    return "; ".join(said)


def _pool() -> list[Any]:
    streams = [_stream(priority) for priority in PRIORITIES for _ in range(POOL)]
    return list({stream.cuda_stream: stream for stream in streams}.values())


def _stream(priority: int) -> Any:
    return torch.cuda.Stream(priority=priority)  # type: ignore[no-untyped-call]


def _sleep(microseconds: int) -> None:
    torch.cuda._sleep(CYCLES_A_US * microseconds)  # type: ignore[no-untyped-call]
