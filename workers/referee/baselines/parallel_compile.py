"""TorchInductor's Triton configurations compiled side by side, in the process that measures baselines on a GPU.

Inductor compiles the configurations of a kernel one after the other: its worker processes take whole kernels, and most
problems are one kernel. Triton lets go of the interpreter while LLVM and `ptxas` work, so threads are enough. What is
compiled, and what is then chosen by timing, is the same; where a thread fails, Inductor compiles as it always does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

MOST_THREADS = 8


def compile_side_by_side() -> None:
    """Have Inductor's tuner do so from now on; nothing where this version lacks the methods that are wrapped."""
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    kind: Any = CachingAutotuner
    worker = getattr(kind, "_precompile_worker", None)
    if worker is not None and hasattr(kind, "_precompile_config") and not hasattr(worker, "alone"):
        kind._precompile_worker = _side_by_side(worker)


def _side_by_side(worker: Callable[[Any], None]) -> Callable[[Any], None]:
    """A tuner's method that compiles all its configurations, with answers that lie ready when it asks for one."""

    def precompile(tuner: Any) -> None:
        configs = list(tuner.configs or ())
        if tuner.compile_results or len(configs) < 2:
            return worker(tuner)
        compile_one = tuner._precompile_config
        threads = min(MOST_THREADS, len(configs), len(os.sched_getaffinity(0)))
        with ThreadPoolExecutor(threads) as pool:
            ready = {id(config): pool.submit(compile_one, config) for config in configs}
        tuner._precompile_config = lambda config: _answer(compile_one, config, ready.get(id(config)))
        try:
            return worker(tuner)
        finally:
            del tuner._precompile_config

    precompile.alone = worker  # type: ignore[attr-defined]
    return precompile


def _answer(compile_one: Callable[[Any], Any], config: Any, ready: Future[Any] | None) -> Any:
    if ready is None or ready.exception() is not None:
        return compile_one(config)
    return ready.result()
