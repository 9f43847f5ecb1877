"""A sandbox that has PID namespaces can stop everything in one, and tells when something ran all the same."""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator

import pytest

from services.ports.sandboxes import Sandbox
from tests.contracts.sandboxes import SANDBOXES, Bench, bench_of
from workers.ipc.freezer import Freezer, FreezerError

pytestmark = pytest.mark.contracts

COUNTER = """
import fcntl, mmap, os, signal, struct, threading, time

descriptor = os.memfd_create("count")
os.ftruncate(descriptor, 4096)
memory = mmap.mmap(descriptor, 4096)

def count():
    number = 0
    while True:
        number += 1
        memory[:8] = struct.pack("Q", number)

channel.send({"result": None}, [descriptor])
"""
THREAD = "threading.Thread(target=count, daemon=True).start()\n"
CHILD = "if os.fork() == 0: count()\n"
DETACHED = "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: count()\n    os._exit(0)\n"
ASKS_TO_BE_WOKEN = """
reading, writing = os.pipe()
signal.signal(signal.SIGCONT, lambda *_: None)
fcntl.fcntl(reading, fcntl.F_SETOWN, os.getpid())
fcntl.fcntl(reading, 10, signal.SIGCONT)  # F_SETSIG
fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
channel.send({"result": None}, [writing])
"""
"""The kernel sends it SIGCONT when somebody writes to its pipe."""
STAY = "time.sleep(60)\n"


@pytest.fixture(scope="module", params=sorted(SANDBOXES))
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    made = SANDBOXES[request.param]()
    yield made
    made.close()


@pytest.fixture
def bench(sandbox: Sandbox) -> Iterator[Bench]:
    yield from bench_of(sandbox)


@pytest.fixture
def closing() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


def started(bench: Bench, closing: contextlib.ExitStack, code: str) -> tuple[Freezer, Callable[[], int]]:
    """A snippet that counts, what stops it, and how far it has counted."""
    inside = bench.run(COUNTER + code + STAY)
    taken = inside.process.take_freezer()  # type: ignore[attr-defined]
    if not bench.has_namespaces:
        assert taken is None
        pytest.skip("without a PID namespace nothing is stopped, and the report says so")
    closing.callback(inside.process.kill)
    message = inside.channel.receive(timeout_s=30.0)
    memory = mmap.mmap(message.descriptors[0], 4096)
    message.close()
    freezer = Freezer(socket.socket(fileno=taken))
    closing.callback(freezer.close)
    return freezer, lambda: int(struct.unpack("Q", memory[:8])[0])


def moves(count: Callable[[], int], within_s: float = 20.0) -> bool:
    """Whether it counts on."""
    before, until = count(), time.monotonic() + within_s
    while count() == before:
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


def stopped(freezer: Freezer, within_s: float = 20.0) -> bool:
    """Whether it stops; on a busy machine a second process may take longer than the supervisor waits for it, which then
    says that something ran."""
    until = time.monotonic() + within_s
    freezer.freeze()
    while not freezer.is_still():
        if time.monotonic() > until:
            return False
        freezer.thaw()
        freezer.freeze()
    return True


@pytest.mark.parametrize("code", [THREAD, CHILD, DETACHED], ids=["a thread", "a child", "a detached process"])
def test_what_a_candidate_started_is_stopped_and_goes_on_afterwards(
    bench: Bench, closing: contextlib.ExitStack, code: str
) -> None:
    freezer, count = started(bench, closing, code)
    assert moves(count)
    for _ in range(5):
        assert stopped(freezer)
        assert not moves(count, within_s=0.05)
        assert freezer.is_still()
        freezer.thaw()
        assert moves(count)


def test_a_tree_that_ran_while_it_was_stopped_is_found_out(bench: Bench, closing: contextlib.ExitStack) -> None:
    freezer, count = started(bench, closing, THREAD + ASKS_TO_BE_WOKEN)
    message = bench.started[-1].channel.receive(timeout_s=30.0)
    assert moves(count)
    freezer.freeze()
    assert freezer.is_still()
    os.write(message.descriptors[0], b"x")
    message.close()
    assert moves(count), "nothing woke it: the test tests nothing"
    until = time.monotonic() + 20.0
    while freezer.is_still() and time.monotonic() < until:
        time.sleep(0.005)  # a busy machine gives it its first milliseconds late
    assert not freezer.is_still()


def test_a_tree_that_has_ended_holds_nobody_up(bench: Bench, closing: contextlib.ExitStack) -> None:
    freezer, count = started(bench, closing, THREAD)
    assert moves(count)
    bench.started[-1].process.kill()
    freezer.freeze()
    freezer.thaw()
    assert freezer.is_still()


def test_a_stopped_tree_can_be_killed(bench: Bench, closing: contextlib.ExitStack) -> None:
    freezer, count = started(bench, closing, DETACHED)
    assert moves(count)
    freezer.freeze()
    process = bench.started[-1].process
    process.kill()
    status = process.wait(10.0)
    assert status is not None
    assert status.signal == signal.SIGKILL


def test_a_supervisor_that_does_not_answer_is_the_machines_fault() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        freezer = Freezer(ours, limit_s=0.1)
        freezer.thaw()
        assert not freezer.was_thawed()
        with pytest.raises(FreezerError, match="could not be stopped or woken"):
            freezer.freeze()
        freezer.close()
