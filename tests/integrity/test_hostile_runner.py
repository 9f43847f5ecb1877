"""A runner that answers anything, at any time: the referee neither crashes nor blocks nor believes it.

Deterministic fuzzing: every seed is one hostile runner against which every request of the protocol is made.
"""

import contextlib
import gc
import json
import math
import random
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.selection import with_full
from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import TensorMeta
from workers.ipc.wire import MAX_MESSAGE_BYTES, Channel, WireError
from workers.referee.boundary.exchange import TimeLimit
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.boundary.slots import Slot
from workers.referee.comparison.call_outputs import Fetched
from workers.referee.errors import FaultKind, RunnerFault

pytestmark = pytest.mark.integration

LIMIT_S = 0.15
SLACK_S = 60.0
META = TensorMeta(dtype="float32", shape=(4,))
TENSOR = {
    "kind": "tensor", "meta": {"dtype": "float32", "shape": [4], "strides": None, "at": None}, "alias": None,
    "written_out": True, "strides": [1], "shared": None,
}  # fmt: skip
HANDED = {"outputs": [TENSOR], "structure": {"tensor": 0}, "written": True}
SEEN: dict[str, Any] = {"written_outside": None, "changed": []}
HONEST: dict[str, dict[str, Any]] = {
    "noop": {"answer": "done"},
    "load": {"answer": "loaded", "matched": True},
    "slot": {"answer": "done"},
    "call": {
        "answer": "called",
        "seconds": 0.001,
        "operators": {"exp": 4},
        "handed": HANDED,
        "written_outside": None,
        "changed": [],
    },
    "fetch": {"answer": "outputs", **HANDED},
    "drop": {"answer": "done"},
}
"""What is answered to each request."""
ERROR: dict[str, Any] = {"answer": "error", "text": "no", "line": 3, "memory": False, "broken": False}


def shaped(dtype: Any, shape: Any) -> dict[str, Any]:
    """A tensor that is described in another way."""
    return {**TENSOR, "meta": {"dtype": dtype, "shape": shape, "strides": None, "at": None}}


JUNK: list[Any] = [
    None, True, False, 0, -1, 1 << 62, 1 << 70, 10**400, 1e308, -0.0, "", "tensor", "\x00", "x" * 100_000, [], [[]],
    {}, {"kind": "tensor"}, {"kind": 3}, [None], [{}] * 65, {"error": {}}, {"": 1 << 80}, [TENSOR] * 64, HANDED,
    {"float": "nan"}, {"float": "inf"}, "error", "profile", ["done"],
    [shaped("float32", [0, 1 << 47, 1 << 47])], [shaped("float32", [1] * 64)], [shaped("float32", [True])],
    [shaped("float32", [-4])], [shaped("float32", [1 << 40])], [shaped("bool", [3])],
    [shaped("complex128", [4])], [shaped("float32\n", [4])], [shaped(None, [4])], [{**TENSOR, "strides": [1, 1]}],
    [{**TENSOR, "alias": 1 << 90}], [{**TENSOR, "kind": "numpy.ndarray" * 100}], [{**TENSOR, "more": 1}],
    {**HANDED, "outputs": [shaped("float32", [1 << 40])]}, {**HANDED, "outputs": [shaped("bool", [3])]},
    {**HANDED, "outputs": [shaped("complex128", [4])]}, {**HANDED, "outputs": [TENSOR] * 64},
    {**HANDED, "outputs": [shaped("float32", [0, 1 << 47, 1 << 47])]}, {**HANDED, "verdict": "accepted"},
]  # fmt: skip


def hostile_answer(peer: Channel, token: Any, op: str, generator: random.Random) -> None:  # noqa: C901 - a list of acts
    """One thing a runner may do instead of answering."""
    answer: dict[str, Any] = {"token": token, **generator.choice([HONEST[op], HONEST[op], ERROR])}
    for _ in range(generator.randrange(3)):
        answer[generator.choice([*answer, "verdict", "done"])] = generator.choice(JUNK)
    act = generator.randrange(14)
    if act < 6:
        peer.send(answer)
    elif act == 6:
        peer.send({**answer, "token": generator.choice(JUNK)})
    elif act == 7:
        peer.send(answer, [0] * generator.randrange(1, 17))
    elif act == 8:
        peer.connection.sendall(struct.pack("!I", MAX_MESSAGE_BYTES + generator.randrange(1, 1 << 20)))
    elif act == 9:
        body = generator.choice([b"[]", b"3", b"{", b"\xff\xfe", b"[" * 50_000, b'{"token":1e999}', b'{"a":NaN}', b""])
        peer.connection.sendall(struct.pack("!I", len(body)) + body)
    elif act == 10:
        peer.connection.sendall(generator.randbytes(generator.randrange(1, 64)))
    elif act == 11:
        for _ in range(3):
            peer.send(answer)
    elif act == 12:
        frame = json.dumps(answer).encode()
        peer.connection.sendall(struct.pack("!I", len(frame)) + frame[: len(frame) // 2])
    else:
        peer.connection.shutdown(socket.SHUT_RDWR)


def hostile(peer: Channel, seed: int) -> None:
    generator = random.Random(seed)
    if generator.random() < 0.1:
        hostile_answer(peer, "guess", "noop", generator)  # before anything was asked
    while True:
        message = peer.receive(timeout_s=5.0)
        message.close()
        hostile_answer(peer, message.body["token"], str(message.body["op"]), generator)


def requests(session: RunnerSession, slot: Slot) -> list[Callable[[], object]]:
    def load() -> object:
        state = [("weight", torch.ones(2))]
        return session.load("source", [2], state, seed=1, copy_state=True, threads=1, limit_s=LIMIT_S)

    return [
        session.noop,
        load,
        lambda: session.open_slot(0, [torch.ones(4)], [META]),
        lambda: session.call(slot),
        lambda: session.observe(slot),
        lambda: session.fetch(slot),
        lambda: session.drop(),
    ]


def check_believable(result: object) -> None:
    """What the referee took from an answer is well typed, whatever the answer was."""
    if isinstance(result, Fetched):
        for output in result.outputs:
            if output.value is not None:
                assert output.meta == TensorMeta.of(output.value)
                assert output.value.numel() * output.value.element_size() <= 64
    claimed = getattr(result, "claimed_s", 0.0)
    assert isinstance(claimed, float)
    assert math.isfinite(claimed)


def ask(request: Callable[[], object]) -> RunnerFault | None:
    """Make a request; the fault, whose text is short enough for a report, or None after a believable answer."""
    fault: RunnerFault | None = None
    try:
        check_believable(request())
    except RunnerFault as found:
        fault = found
    assert fault is None or len(str(fault)) < 5000
    return fault


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def settled_descriptors(enough: int) -> int:
    """How many are open once what holds them is gone: a last tensor, a fault's traceback, the peer's thread."""
    for _ in range(20):
        gc.collect()
        if open_descriptors() <= enough:
            break
        time.sleep(0.05)
    return open_descriptors()


@pytest.mark.parametrize("seed", with_full(range(80), range(8)))
def test_a_hostile_runner_can_only_be_found_at_fault(seed: int) -> None:
    ours, theirs = socket.socketpair()

    def peer() -> None:
        with contextlib.suppress(WireError, OSError), theirs:
            hostile(Channel(theirs), seed)

    gc.collect()  # what earlier tests left is not ours
    before = open_descriptors()
    thread = threading.Thread(target=peer, daemon=True)
    thread.start()
    slot = Slot(0, [torch.ones(4)], [META], TensorDevice())
    session = RunnerSession(
        Channel(ours), lambda: RunnerFault(FaultKind.CRASHED, "it ended"), time_limit=TimeLimit(left_s=60.0)
    )
    session.call_limit_s = LIMIT_S
    for request in requests(session, slot):
        started = time.monotonic()
        ask(request)
        assert time.monotonic() - started < LIMIT_S + SLACK_S
    session.close()
    thread.join(timeout=6.0)
    slot.close()
    del slot
    assert settled_descriptors(before + 4) <= before + 4


def test_a_runner_that_drips_bytes_is_stopped_at_the_limit() -> None:
    ours, theirs = socket.socketpair()

    def drip() -> None:
        with contextlib.suppress(OSError), theirs:
            theirs.sendall(struct.pack("!I", 1000))
            for _ in range(200):
                theirs.sendall(b" ")
                time.sleep(0.01)

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    session = RunnerSession(
        Channel(ours), lambda: RunnerFault(FaultKind.CRASHED, "it ended"), time_limit=TimeLimit(left_s=60.0)
    )
    session.call_limit_s = LIMIT_S
    with pytest.raises(RunnerFault) as caught:
        session.noop()
    assert caught.value.kind is FaultKind.HUNG
    session.close()
    thread.join()


@pytest.mark.parametrize("field", sorted({name for said in (*HONEST.values(), ERROR) for name in said}))
def test_every_field_may_hold_anything(field: str) -> None:
    ours, theirs = socket.socketpair()
    values = iter([value for value in JUNK for _ in range(4)])

    def peer() -> None:
        channel = Channel(theirs)
        with contextlib.suppress(WireError), theirs:
            for value in values:
                message = channel.receive(timeout_s=10.0)
                message.close()
                honest: dict[str, Any] = HONEST[str(message.body["op"])]
                said = honest if field in honest else ERROR
                channel.send({"token": message.body["token"], **said, field: value})

    thread = threading.Thread(target=peer, daemon=True)
    thread.start()
    slot = Slot(0, [torch.ones(4)], [META], TensorDevice())
    session = RunnerSession(
        Channel(ours), lambda: RunnerFault(FaultKind.CRASHED, "it ended"), time_limit=TimeLimit(left_s=30.0)
    )
    asks: list[Callable[[], object]] = [
        session.noop,
        lambda: session.call(slot),
        lambda: session.observe(slot),
        lambda: session.fetch(slot),
    ]
    for index in range(4 * len(JUNK)):
        fault = ask(asks[index % 4])
        assert fault is None or fault.kind in (FaultKind.FORGED, FaultKind.RAISED, FaultKind.MEMORY, FaultKind.CRASHED)
    session.close()
    thread.join(timeout=5.0)
    slot.close()
