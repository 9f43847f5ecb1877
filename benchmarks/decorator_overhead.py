"""What a call through `@kernelwright.optimize` costs beside calling the kernel, or the function, itself.

    python -m benchmarks.decorator_overhead [--calls 20000] [--rounds 30] [--limit-us 2]

Solves nothing: the decorated function is given a solution whose kernel is the function itself, so that what is left is
the decision. Decorated and plain calls are timed in turns, a batch each; printed are the medians of the batches'
differences with a 95 % bootstrap interval, per call: with one tensor, with three tensors and a number, and for a call
that falls back. Exits 1 where a median is above the limit.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from kernelwright.optimized_functions.optimized import OptimizedFunction
from kernelwright.optimized_functions.signature import proven_signature


def one(x: torch.Tensor) -> torch.Tensor:
    return x


def several(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    return x if eps else weight + bias


def proven(function: Callable[..., Any], *arguments: Any, defaults: tuple[Any, ...]) -> OptimizedFunction:
    """The function decorated, with itself as the kernel for such calls."""
    found = OptimizedFunction(function, {})
    found.install(function, frozenset({proven_signature(arguments, torch.device("cpu"))}), defaults)
    return found


def batch_us(function: Callable[..., Any], arguments: tuple[Any, ...], calls: int) -> float:
    """Microseconds of processor time a call: nothing waits here, and what other programs take is not the call's."""
    started = time.thread_time()
    for _ in range(calls):
        function(*arguments)
    return (time.thread_time() - started) / calls * 1e6


def overheads_us(
    decorated: OptimizedFunction, arguments: tuple[Any, ...], *, calls: int, rounds: int
) -> tuple[float, float, float]:
    """Median of the differences, and its 95 % interval."""
    found = []
    for _ in range(rounds):
        plain = batch_us(decorated.original, arguments, calls)
        found.append(batch_us(decorated, arguments, calls) - plain)
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(found, k=rounds)) for _ in range(2000))
    return statistics.median(found), medians[50], medians[-51]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=5000, help="Calls in a batch.")
    parser.add_argument("--rounds", type=int, default=40, help="Pairs of batches.")
    parser.add_argument("--limit-us", type=float, default=2.0, help="Most that a median may be.")
    given = parser.parse_args()
    x, weight, bias = torch.zeros(64, 64), torch.zeros(64), torch.zeros(64)
    decorated_one = proven(one, x, defaults=(None,))
    decorated = proven(several, x, weight, bias, 1e-6, defaults=(None, None, None, 1e-6))
    rows: list[tuple[str, OptimizedFunction, tuple[Any, ...], bool]] = [
        ("kernel, one tensor", decorated_one, (x,), True),
        ("kernel, three tensors and a number", decorated, (x, weight, bias, 1e-6), True),
        ("original, another shape", decorated, (x[:32], weight, bias, 1e-6), False),
        ("original, nothing solved", OptimizedFunction(several, {}), (x, weight, bias, 1e-6), False),
    ]
    worst = 0.0
    for name, function, arguments, expected in rows:
        if function.runs_kernel(*arguments) is not expected:
            raise AssertionError(name)
        median, low, high = overheads_us(function, arguments, calls=given.calls, rounds=given.rounds)
        worst = max(worst, median)
        print(f"{name:36} {median:5.2f} µs a call  [{low:.2f}, {high:.2f}]")
    print(f"worst {worst:.2f} µs, {worst / given.limit_us:.2f} of the limit of {given.limit_us:g} µs")
    return int(worst > given.limit_us)


if __name__ == "__main__":
    sys.exit(main())
