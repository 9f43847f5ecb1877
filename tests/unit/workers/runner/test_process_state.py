"""Modes that a call must leave as it found them."""

import ctypes
import mmap
import random
import threading
from collections.abc import Callable, Iterator

import numpy.random
import pytest
import torch

from workers.runner.process_state import FREE_TO_BUILD, changed_since, own_bytes, process_state, seeds_of_others

UPWARD = 0x800
MATHS = ctypes.CDLL("libm.so.6")
OPENMP = ctypes.CDLL("libgomp.so.1")
REGION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Environment(ctypes.Structure):
    """What the C library's `fegetenv` fills: x87's words, and then MXCSR."""

    _fields_ = (("x87", ctypes.c_uint32 * 7), ("mxcsr", ctypes.c_uint32))


def set_bits(bits: int) -> None:
    environment = Environment()
    MATHS.fegetenv(ctypes.byref(environment))
    environment.mxcsr ^= bits
    MATHS.fesetenv(ctypes.byref(environment))


def in_the_other_threads(act: Callable[[], object]) -> None:
    def region(_data: object) -> None:
        if OPENMP.omp_get_thread_num():
            act()

    OPENMP.GOMP_parallel(REGION(region), None, torch.get_num_threads(), 0)


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    yield
    MATHS.fesetround(0)
    torch.set_flush_denormal(False)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device("cpu")
    torch.set_autocast_enabled("cpu", False)
    torch.set_num_threads(threads)
    torch.set_grad_enabled(True)
    torch.set_float32_matmul_precision("highest")
    torch.set_rng_state(state)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda: MATHS.fesetround(UPWARD), "the rounding mode"),
        (lambda: MATHS.fesetround(0x400), "the rounding mode"),
        (lambda: MATHS.fesetround(0xC00), "the rounding mode"),
        (lambda: torch.set_flush_denormal(True), "the treatment of denormal numbers"),
        (lambda: torch.set_default_dtype(torch.float64), "the default dtype"),
        (lambda: torch.set_num_threads(torch.get_num_threads() + 1), "the number of threads"),
        (lambda: torch.set_default_device("meta"), "the default device"),
        (lambda: torch.set_autocast_enabled("cpu", True), "autocast"),
        (lambda: torch.rand(1), "the state of the random numbers"),
        (random.random, "the state of Python's random numbers"),
        (numpy.random.rand, "the state of NumPy's random numbers"),
        (lambda: torch.set_grad_enabled(False), "whether gradients are recorded"),
        (lambda: torch.set_float32_matmul_precision("medium"), "the precision of float32 products"),
    ],
)
def test_a_change_is_told_by_its_name(change: Callable[[], object], name: str) -> None:
    before = process_state()
    change()
    assert changed_since(before) == (name,)


def test_what_is_put_back_is_nothing_to_tell() -> None:
    before = process_state()
    MATHS.fesetround(UPWARD)
    torch.set_flush_denormal(True)
    torch.set_flush_denormal(False)
    MATHS.fesetround(0)
    assert changed_since(before) == ()


def test_numbers_may_be_drawn_while_a_model_is_built_and_no_seed_set() -> None:
    before = process_state()
    torch.rand(1)
    assert changed_since(before, free=FREE_TO_BUILD) == ()
    torch.manual_seed(torch.initial_seed() + 1)
    assert changed_since(before, free=FREE_TO_BUILD) == ("the seed of the random numbers",)


def test_a_trap_is_told_by_its_name() -> None:
    before = process_state()
    set_bits(0x200)  # divisions by zero
    changed = changed_since(before)
    set_bits(0x200)
    assert changed == ("what arithmetic ends the process",)


@pytest.mark.parametrize("bits", [0x8000, 0x0040, 0x2000])
def test_a_mode_that_another_thread_of_the_team_keeps_is_told(bits: int) -> None:
    told = list[tuple[str, ...]]()

    def ask() -> None:  # a thread's team is its own
        torch.set_num_threads(2)
        before = process_state()
        in_the_other_threads(lambda: set_bits(bits))
        told.append(changed_since(before))
        in_the_other_threads(lambda: set_bits(bits))
        told.append(changed_since(before))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert told == [("the arithmetic of the other threads",), ()]


@pytest.mark.parametrize(
    ("act", "seeded"),
    [
        (lambda: None, ()),
        (random.random, ()),
        (lambda: numpy.random.standard_normal(5000), ()),
        (lambda: random.seed(0), ("the seed of Python's random numbers",)),
        (lambda: (numpy.random.seed(7), numpy.random.rand()), ("the seed of NumPy's random numbers",)),
    ],
)
def test_who_seeds_the_random_numbers_of_others_leaves_them_in_the_same_state(
    act: Callable[[], object], seeded: tuple[str, ...]
) -> None:
    assert seeds_of_others(act, act)[1] == seeded
    assert seeds_of_others(act, act, asks=False)[1] == ()


def test_memory_of_its_own_grows_with_what_a_process_keeps() -> None:
    before = own_bytes()
    with mmap.mmap(-1, 16 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as kept:
        kept.write(bytes([1]) * (16 << 20))
        assert own_bytes() - before > 8 << 20
