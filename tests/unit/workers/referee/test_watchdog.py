"""A step's time is its own: what a busy machine takes is not counted against the problem."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from workers.ipc.wire import Channel
from workers.referee.protocol import REPLIES, RequestRefused
from workers.referee.watchdog import LONGEST_S, REFERENCE_LIMIT_S, RunQueue, is_over


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


BUSY = """
import socket, sys
from pathlib import Path
from workers.ipc.wire import Channel
from workers.referee.watchdog import Watchdog

watchdog = Watchdog(Channel(socket.socket(fileno=int(sys.argv[1]))), limit_s=1.0)
path = sys.argv[2]
with watchdog.watching(path):
    watchdog.restart("get_inputs")
    exec(compile(Path(path).read_text(), path, "exec"), {})
"""


def test_a_problem_that_computes_without_end_is_ended_with_its_line(tmp_path: Path) -> None:
    problem = tmp_path / "endless.py"
    problem.write_text("number = 0\n\nwhile True:\n    number += 1\n")
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-c", BUSY, str(theirs.fileno()), str(problem)]
    with subprocess.Popen(command, pass_fds=[theirs.fileno()], cwd=Path(__file__).parents[4]) as process:
        theirs.close()
        said = REPLIES.decode(Channel(ours).receive(timeout_s=100.0).body)
        assert process.wait(30) == 3
    ours.close()
    assert isinstance(said, RequestRefused)
    assert said.refusal.reason == "get_inputs did not end within 1 s"
    assert said.refusal.line in (3, 4)
