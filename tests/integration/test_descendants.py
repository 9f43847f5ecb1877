"""Which processes lie below another, by both ways that /proc tells it, and that a bomb's tree is killed whole."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from workers.profilers.usage import _descendants_by_parent, descendants

pytestmark = pytest.mark.integration

TREE = """
import os, sys, threading, time
def fork():
    if os.fork() == 0:
        time.sleep(600)
        os._exit(0)
fork()
thread = threading.Thread(target=lambda: (fork(), time.sleep(600)))
thread.start()
time.sleep(0.5)
print("ready", flush=True)
thread.join()
"""


@pytest.fixture
def tree() -> Iterator[int]:
    """A process with a child of its first thread and one of another."""
    with subprocess.Popen([sys.executable, "-c", TREE], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        below = descendants(parent.pid)
        yield parent.pid
        for process in [parent.pid, *below]:
            os.kill(process, 9)


def test_children_of_all_threads_are_found_as_a_walk_over_all_processes_finds_them(tree: int) -> None:
    deadline = time.monotonic() + 60
    while len(found := descendants(tree)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(found) == 2
    assert sorted(found) == sorted(_descendants_by_parent(tree))
    assert set(found) < set(descendants(os.getpid()))
    assert descendants(found[0]) == []
