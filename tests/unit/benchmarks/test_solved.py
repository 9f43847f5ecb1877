"""What a run of problems saved against another, and whose kernels were the best in truth."""

from __future__ import annotations

import pytest

from benchmarks.latency_table import kernel_hash
from benchmarks.solved import Solved, Try, compare, contenders


def solved(problem: str, **figures: float | None) -> Solved:
    """A job whose kernels have these sources and figures, in order."""
    return Solved(problem=problem, tries=tuple(Try(source=name, median_us=value) for name, value in figures.items()))


def test_evaluations_are_counted_to_the_first_kernel_within_the_tolerance() -> None:
    job = solved("p", draft=None, fuse=140.0, wide=102.9, best=100.0)
    assert (job.best_us, job.until(100.0), job.until(95.0)) == (100.0, 3, 5)


def test_a_lucky_figure_does_not_move_the_count_once_kernels_are_settled() -> None:
    job = solved("p", good=100.0, lucky=95.0)
    assert job.until(job.best_us) == 2
    settled = job.settled({("p", kernel_hash("good")): 100.0, ("p", kernel_hash("lucky")): 101.0})
    assert settled.until(settled.best_us) == 1
    assert settled.settled({("other", kernel_hash("good")): 1.0}) == settled


def test_a_kernel_that_was_not_accepted_stays_out_whatever_it_settles_at() -> None:
    job = solved("p", wrong=None, right=100.0)
    assert job.settled({("p", kernel_hash("wrong")): 1.0}).best_us == 100.0


def test_contenders_are_the_kernels_that_any_run_saw_near_the_lowest_figure() -> None:
    runs = ([solved("p", a=100.0, b=120.0, c=None)], [solved("p", b=105.0, d=109.9, a=150.0)])
    assert contenders(runs, 1.1) == {"p": ["a", "b", "d"]}


def test_a_comparison_tells_what_was_saved_with_an_interval_over_problems() -> None:
    before = [solved("p", a=200.0, b=150.0, c=100.0, d=99.0), solved("q", a=100.0)]
    after = [solved("p", c=100.0), solved("q", a=100.0, b=50.0)]
    found = compare(before, after)
    assert (found.own, found.common) == ((4, 3), (5, 3))
    assert found.saved == 0.25
    low, high = found.interval
    assert low == -1.0
    assert high == pytest.approx(2 / 3)
    assert found.faster == pytest.approx((99 / 100 * 100 / 50) ** 0.5)
