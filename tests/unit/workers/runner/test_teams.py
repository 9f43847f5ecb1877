"""Calls by other threads than usual."""

import ctypes
import threading

import pytest
import torch

from workers.runner.protocol import ThreadTeam
from workers.runner.teams import MANY, OPENMP, SMALL_STACK, called_by

REGION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def threads() -> tuple[int, int]:
    """How many threads OpenMP says a parallel region may have, and how many one has."""
    openmp, seen = ctypes.CDLL(OPENMP), list[int]()
    region = REGION(lambda _data: seen.append(openmp.omp_get_num_threads()))
    openmp.GOMP_parallel(region, None, 0, 0)
    return openmp.omp_get_max_threads(), len(seen)


@pytest.mark.parametrize(
    ("team", "found"), [(ThreadTeam.ONE, (1, 1)), (ThreadTeam.MANY, (MANY, MANY)), (ThreadTeam.FEWER, (2, 1))], ids=str
)
def test_a_call_gets_the_threads_that_were_asked_for(team: ThreadTeam, found: tuple[int, int]) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert called_by(team, threads, []) == found
        assert torch.get_num_threads() == 2
        assert threads() == (2, 2)
    finally:
        torch.set_num_threads(before)


def test_a_call_from_another_thread_has_the_modes_of_this_one() -> None:
    with torch.no_grad():
        found = called_by(ThreadTeam.ANOTHER, lambda: (threading.get_ident(), torch.is_grad_enabled()), [])
    assert found[0] != threading.get_ident()
    assert not found[1]


def stack() -> int:
    """Bytes of the calling thread's stack."""
    threads_of_c, attributes, size = ctypes.CDLL(None), ctypes.create_string_buffer(256), ctypes.c_size_t()
    threads_of_c.pthread_self.restype = ctypes.c_void_p
    threads_of_c.pthread_getattr_np(ctypes.c_void_p(threads_of_c.pthread_self()), attributes)
    threads_of_c.pthread_attr_getstacksize(attributes, ctypes.byref(size))
    return size.value


def test_a_thread_with_a_small_stack_has_one_and_the_next_has_not() -> None:
    assert called_by(ThreadTeam.SHALLOW, stack, []) <= SMALL_STACK + (64 << 10)
    assert called_by(ThreadTeam.ANOTHER, stack, []) > 2 * SMALL_STACK
    assert threading.stack_size() == 0


def test_operators_fit_on_a_small_stack() -> None:
    found = called_by(
        ThreadTeam.SHALLOW, lambda x: torch.softmax(x @ x.T, dim=-1).sort().values, [torch.rand(9, 70000)]
    )
    assert found.shape == (9, 9)


def test_what_a_call_raises_in_another_thread_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        called_by(ThreadTeam.ANOTHER, lambda: 1 // 0, [])
