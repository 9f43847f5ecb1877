"""Modes that a call must leave as it found them."""

import ctypes
import mmap
from collections.abc import Callable, Iterator

import pytest
import torch

from workers.runner.process_state import FREE_TO_BUILD, changed_since, own_bytes, process_state

UPWARD = 0x800
MATHS = ctypes.CDLL("libm.so.6")


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    yield
    MATHS.fesetround(0)
    torch.set_flush_denormal(False)
    torch.set_default_dtype(torch.float32)
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
        (lambda: torch.rand(1), "the state of the random numbers"),
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


def test_memory_of_its_own_grows_with_what_a_process_keeps() -> None:
    before = own_bytes()
    with mmap.mmap(-1, 16 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as kept:
        kept.write(bytes([1]) * (16 << 20))
        assert own_bytes() - before > 8 << 20
