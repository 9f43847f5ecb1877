"""A step's time is its own: what a busy machine takes is not counted against the problem."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.referee.boundary.problem_messages import LONGEST_S
from workers.referee.problem.watchdog import REFERENCE_LIMIT_S, RunQueue, is_over


@pytest.mark.parametrize(
    ("elapsed_s", "waited_s", "over"),
    [
        (REFERENCE_LIMIT_S - 1, 0.0, False),
        (REFERENCE_LIMIT_S + 1, 0.0, True),
        (REFERENCE_LIMIT_S + 1, 10.0, False),
        (REFERENCE_LIMIT_S + 11, 10.0, True),
        (LONGEST_S + 1, LONGEST_S, True),
    ],
)
def test_waiting_for_a_cpu_is_not_counted_up_to_a_bound(elapsed_s: float, waited_s: float, over: bool) -> None:
    assert is_over(elapsed_s, lambda: waited_s) is over


def _thread(tasks: Path, name: str, waited_ns: int) -> None:
    (tasks / name).mkdir(parents=True, exist_ok=True)
    (tasks / name / "schedstat").write_text(f"5000 {waited_ns} 7\n")


def test_the_thread_that_waited_longest_counts_from_the_restart_on(tmp_path: Path) -> None:
    _thread(tmp_path, "1", 3_000_000_000)
    queue = RunQueue(tmp_path)
    queue.restart()
    _thread(tmp_path, "1", 3_500_000_000)
    _thread(tmp_path, "2", 2_000_000_000)
    assert queue.waited_s() == pytest.approx(2.0)


def test_a_kernel_that_does_not_tell_means_no_allowance(tmp_path: Path) -> None:
    queue = RunQueue(tmp_path / "missing")
    queue.restart()
    assert queue.waited_s() == 0.0
