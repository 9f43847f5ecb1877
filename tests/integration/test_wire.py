"""Messages between processes, and what a hostile peer can send instead."""

from __future__ import annotations

import contextlib
import gc
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workers.ipc.wire import (
    HEADER,
    MAX_DESCRIPTORS,
    Channel,
    WireClosedError,
    WireError,
    WireTimeoutError,
)

pytestmark = pytest.mark.integration


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Channel(ours, max_message_bytes=1 << 20), theirs


def open_descriptors() -> int:
    """Counted after a collection: what earlier tests left open would else be closed while this one counts."""
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def send_and_receive(content: bytes) -> dict[str, object]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(content)
        theirs.shutdown(socket.SHUT_WR)
        return dict(Channel(ours, max_message_bytes=1 << 16).receive(timeout_s=60.0).body)


def patient(examples: int) -> settings:
    """A machine that does other work besides is no fault of what is tested."""
    return settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
documents = st.dictionaries(
    st.text(), st.recursive(scalars, lambda kids: st.lists(kids) | st.dictionaries(st.text(), kids))
)


@given(documents)
@patient(60)
def test_what_is_sent_is_received(body: dict[str, object]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Channel(ours).send(body)  # type: ignore[arg-type]
        assert Channel(theirs).receive(timeout_s=60.0).body == body


@given(st.binary(max_size=200))
@patient(200)
def test_random_bytes_raise_nothing_but_wire_errors(content: bytes) -> None:
    with contextlib.suppress(WireError):
        send_and_receive(content)


@given(st.binary(max_size=200))
@patient(200)
def test_random_payloads_raise_nothing_but_wire_errors(payload: bytes) -> None:
    with contextlib.suppress(WireError):
        send_and_receive(HEADER.pack(len(payload)) + payload)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"[1]",
        b'"text"',
        b"{",
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": "\\ud800"}',
        b'{"\xff": 1}',
        b'{"a": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
        b'{"a": ' + b"9" * 10_000 + b"}",
        '{"a": 1}'.encode("utf-16"),
    ],
)
def test_what_is_no_message_is_refused(payload: bytes) -> None:
    with pytest.raises(WireError):
        send_and_receive(HEADER.pack(len(payload)) + payload)


def test_a_hostile_length_is_refused_before_anything_is_read(ends: tuple[Channel, socket.socket]) -> None:
    channel, peer = ends
    peer.sendall(HEADER.pack(0xFFFFFFFF))
    with pytest.raises(WireError, match="exceeds"):
        channel.receive(timeout_s=60.0)


def test_a_partial_message_ends_at_the_deadline(ends: tuple[Channel, socket.socket]) -> None:
    channel, peer = ends
    peer.sendall(HEADER.pack(100) + b'{"a"')
    with pytest.raises(WireTimeoutError):
        channel.receive(timeout_s=0.2)


def test_dripping_bytes_does_not_move_the_deadline(ends: tuple[Channel, socket.socket]) -> None:
    channel, peer = ends
    stop = threading.Event()

    def drip() -> None:
        peer.sendall(HEADER.pack(100_000))
        while not stop.wait(0.02):
            peer.sendall(b" ")

    thread = threading.Thread(target=drip)
    thread.start()
    with pytest.raises(WireTimeoutError):
        channel.receive(timeout_s=0.3)
    stop.set()
    thread.join()


def test_a_peer_that_goes_away_is_told_apart(ends: tuple[Channel, socket.socket]) -> None:
    channel, peer = ends
    peer.sendall(HEADER.pack(100) + b"{")
    peer.close()
    with pytest.raises(WireClosedError):
        channel.receive(timeout_s=60.0)
    with pytest.raises(WireClosedError):
        channel.send({"a": 1})


def test_a_peer_that_does_not_read_cannot_hold_us(ends: tuple[Channel, socket.socket]) -> None:
    channel, _peer = ends

    def fill() -> None:
        for _ in range(100):
            channel.send({"text": "x" * 500_000}, timeout_s=0.2)

    with pytest.raises(WireTimeoutError):
        fill()


def test_descriptors_arrive_and_are_closed_with_the_message(ends: tuple[Channel, socket.socket]) -> None:
    channel, peer = ends
    reading, writing = os.pipe()
    Channel(peer).send({"pipe": True}, [writing])
    os.close(writing)
    message = channel.receive(timeout_s=60.0)
    os.write(message.descriptors[0], b"through")
    assert os.read(reading, 10) == b"through"
    assert not os.get_inheritable(message.descriptors[0])
    message.close()
    assert os.read(reading, 10) == b""
    os.close(reading)


def test_descriptors_beside_a_broken_message_are_closed(ends: tuple[Channel, socket.socket]) -> None:
    channel, peer = ends
    before = open_descriptors()
    for payload in (b"[1]", b"{", b'{"a": NaN}'):
        socket.send_fds(peer, [HEADER.pack(len(payload)) + payload], [0, 0, 0])
        with pytest.raises(WireError):
            channel.receive(timeout_s=60.0)
    assert open_descriptors() == before


def test_too_many_descriptors_are_refused_and_closed(ends: tuple[Channel, socket.socket]) -> None:
    channel, peer = ends
    before = open_descriptors()
    socket.send_fds(peer, [HEADER.pack(2) + b"{}"], [0] * (MAX_DESCRIPTORS + 5))
    with pytest.raises(WireError, match="descriptors"):
        channel.receive(timeout_s=60.0)
    assert open_descriptors() == before


def test_descriptors_spread_over_one_message_are_counted_together(ends: tuple[Channel, socket.socket]) -> None:
    channel, peer = ends
    before = open_descriptors()
    frame = HEADER.pack(40) + b" " * 40
    for position in range(4):
        socket.send_fds(peer, [frame[position : position + 1]], [0] * 6)
    with pytest.raises(WireError, match="descriptors"):
        channel.receive(timeout_s=60.0)
    assert open_descriptors() == before


@pytest.mark.parametrize("body", [{"a": float("nan")}, {"a": object()}, {"a": "x" * (2 << 20)}])
def test_what_cannot_be_sent_is_refused_here(ends: tuple[Channel, socket.socket], body: dict[str, object]) -> None:
    channel, _peer = ends
    with pytest.raises(WireError):
        channel.send(body)  # type: ignore[arg-type]


def test_sending_too_many_descriptors_is_refused_here(ends: tuple[Channel, socket.socket]) -> None:
    channel, _peer = ends
    with pytest.raises(WireError):
        channel.send({}, [0] * (MAX_DESCRIPTORS + 1))


def test_a_peer_that_ends_after_reading_descriptors_does_not_fail_the_sender() -> None:
    class Ending(socket.socket):
        """The peer reads everything and ends at the very moment the message is out."""

        peer: socket.socket

        def sendmsg(self, *arguments: Any, **keywords: Any) -> int:
            sent = super().sendmsg(*arguments, **keywords)
            assert self.peer.recv(1 << 16)
            self.peer.close()
            return sent

    ours, theirs = socket.socketpair()
    ending = Ending(fileno=ours.detach())
    ending.peer = theirs
    with ending:
        Channel(ending).send({"built": True}, [ending.fileno()])
