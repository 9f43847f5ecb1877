"""The guard of this tier sees every way to wait for real time, and every way to start a program."""

from __future__ import annotations

import asyncio
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from tests.real_time_guard import watched

AWHILE_S = 0.02


def on_a_queue() -> None:
    with pytest.raises(queue.Empty):
        queue.Queue[int]().get(timeout=AWHILE_S)


def a_child() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: time.sleep(AWHILE_S), "time.sleep of 0.02 s"),
        (lambda: threading.Event().wait(AWHILE_S), "Condition.wait for 0.02 s"),
        (on_a_queue, "Condition.wait for 0.0"),
        (lambda: subprocess.run([sys.executable, "-c", ""], check=True), "a program by Popen.__init__"),
        (a_child, "a program by os.fork"),
    ],
    ids=["sleep", "event", "queue", "program", "child"],
)
def test_what_waits_or_starts_a_program_is_seen(action: Callable[[], object], message: str) -> None:
    with watched() as seen:
        action()
    assert any(message in one for one in seen), seen


async def test_waiting_on_a_real_loop_is_seen() -> None:
    with watched() as seen:
        await asyncio.sleep(AWHILE_S)
    assert any("EpollSelector.select for 0.0" in one for one in seen), seen


@pytest.mark.virtual_time
async def test_virtual_time_is_free() -> None:
    with watched() as seen:
        await asyncio.sleep(3600.0)
    assert seen == []


def test_short_waits_and_those_of_other_threads_are_free() -> None:
    thread = threading.Thread(target=time.sleep, args=(AWHILE_S,))
    with watched() as seen:
        thread.start()
        thread.join()
        time.sleep(0.001)
        threading.Event().wait(0.001)
    assert seen == []
