"""Other threads for one call than those that a model was loaded with.

A caller may have set any number, OpenMP may give a region fewer threads than were asked for, and calls may come from
one thread after the other.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import torch

from workers.runner.protocol import ThreadTeam

MANY = 72
"""Threads where there are to be many: no array of 64 has an element for each."""
OPENMP = "libgomp.so.1"
"""Loaded by torch; a candidate's own code gets the same one."""
SMALL_STACK = 256 << 10
"""Bytes of a thread's stack where that is small: what PyTorch's operators need, and tiles, fit in there."""


def called_by(team: ThreadTeam, model: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """What a model returns when other threads than usual work on the call; the usual ones where that cannot be had."""
    usual = torch.get_num_threads()
    if team is ThreadTeam.ANOTHER:
        return in_new_thread(model, arguments, usual)
    if team is ThreadTeam.SHALLOW:
        return in_new_thread(model, arguments, usual, stack=SMALL_STACK)
    try:
        with _levels(0) if team is ThreadTeam.FEWER else contextlib.nullcontext():
            if team is ThreadTeam.ONE:
                torch.set_num_threads(1)
            elif team is ThreadTeam.MANY and usual < MANY and _can_start(MANY):
                torch.set_num_threads(MANY)
            return model(*arguments)
    finally:
        torch.set_num_threads(usual)


def in_new_thread(model: Callable[..., Any], arguments: Sequence[Any], threads: int, *, stack: int = 0) -> Any:
    """What a model returns in a thread of its own, under the caller's modes; what it raises is raised here. `stack`:
    bytes of the thread's stack, 0 where they are the usual ones."""
    done: Future[Any] = Future()
    records = torch.is_grad_enabled()

    def call() -> None:
        try:
            torch.set_num_threads(threads)
            with torch.set_grad_enabled(records):
                done.set_result(model(*arguments))
        except BaseException as error:  # noqa: BLE001 - it is the caller's
            done.set_exception(error)

    thread = threading.Thread(target=call, daemon=True)
    usual = threading.stack_size(stack)
    try:
        thread.start()
    except (RuntimeError, MemoryError):  # the process's limits
        return model(*arguments)
    finally:
        threading.stack_size(usual)
    thread.join()
    return done.result()


@contextlib.contextmanager
def _levels(most: int) -> Iterator[None]:
    """Have no more than so many parallel regions in one another; with 0, each region has a team of one."""
    try:
        openmp = ctypes.CDLL(OPENMP)
    except OSError:  # torch has another OpenMP here
        yield
        return
    before = openmp.omp_get_max_active_levels()
    openmp.omp_set_max_active_levels(most)
    try:
        yield
    finally:
        openmp.omp_set_max_active_levels(before)


def _can_start(count: int) -> bool:
    """Whether so many threads fit into the process's limits: OpenMP ends a process that cannot start one."""
    done, started = threading.Event(), list[threading.Thread]()
    try:
        for _ in range(count):
            thread = threading.Thread(target=done.wait, daemon=True)
            thread.start()
            started.append(thread)
    except (RuntimeError, MemoryError):
        return False
    finally:
        done.set()
        for thread in started:
            thread.join()
    return True
