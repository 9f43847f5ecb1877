"""A problem that computes without end is ended, in a process of its own."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from workers.ipc.wire import Channel
from workers.referee.boundary.problem_messages import ANSWERS, ProblemRefused

pytestmark = pytest.mark.integration


BUSY = """
import socket, sys
from pathlib import Path
from workers.ipc.wire import Channel
from workers.referee.problem.watchdog import Watchdog

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
        said = ANSWERS.decode(Channel(ours).receive(timeout_s=100.0).body)
        assert process.wait(60) == 3
    ours.close()
    assert isinstance(said, ProblemRefused)
    assert said.reason == "get_inputs did not end within 1 s"
    assert said.line in (3, 4)
