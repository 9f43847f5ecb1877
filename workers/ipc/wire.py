"""Messages between worker, referee and runner: length-prefixed JSON over a Unix socket, file descriptors beside it.

Hardened for a hostile peer: lengths are bounded before anything is read, no pickle, nothing is executed, and every
receive has a deadline. Standard library only.
"""

from __future__ import annotations

import array
import json
import os
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.domain.events import JsonValue

HEADER = struct.Struct("!I")
MAX_MESSAGE_BYTES = 16 << 20
MAX_DESCRIPTORS = 16


class WireError(Exception):
    """The peer sent something that is not a message, or more than is allowed."""


class WireClosedError(WireError):
    """The peer is gone."""


class WireTimeoutError(WireError):
    """Nothing complete arrived before the deadline."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """One received message; whoever receives it owns its descriptors."""

    body: dict[str, JsonValue]
    descriptors: tuple[int, ...] = ()

    def close(self) -> None:
        """Close the descriptors."""
        for descriptor in self.descriptors:
            os.close(descriptor)


class Channel:
    """One end of a connection. Not thread-safe."""

    def __init__(self, connection: socket.socket, *, max_message_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self.connection = connection
        self._max_message_bytes = max_message_bytes

    def send(self, body: Mapping[str, JsonValue], descriptors: Sequence[int] = (), *, timeout_s: float = 30.0) -> None:
        """Send one message. Raises `WireClosedError`, `WireTimeoutError`, and `WireError` for what cannot be sent."""
        try:
            payload = json.dumps(dict(body), separators=(",", ":"), allow_nan=False).encode()
        except (ValueError, TypeError, RecursionError) as error:
            raise WireError(f"not JSON: {error}") from None
        if len(descriptors) > MAX_DESCRIPTORS:
            raise WireError(f"{len(descriptors)} descriptors exceed {MAX_DESCRIPTORS}")
        if len(payload) > self._max_message_bytes:
            raise WireError(f"message of {len(payload)} bytes exceeds {self._max_message_bytes}")
        self.connection.settimeout(timeout_s)
        try:
            frame = HEADER.pack(len(payload)) + payload
            if descriptors:
                rest = frame[socket.send_fds(self.connection, [frame], list(descriptors)) :]
                if rest:  # sending nothing fails where the peer has read everything and ended
                    self.connection.sendall(rest)
            else:
                self.connection.sendall(frame)
        except TimeoutError:
            raise WireTimeoutError(f"the peer did not read for {timeout_s} s") from None
        except OSError as error:
            raise WireClosedError(f"the peer is gone: {error}") from None

    def receive(self, *, timeout_s: float) -> Message:
        """Receive one message. Raises `WireClosedError`, `WireTimeoutError`, `WireError`."""
        deadline = time.monotonic() + timeout_s
        received: list[int] = []
        try:
            (length,) = HEADER.unpack(self._read(HEADER.size, deadline, received))
            if length > self._max_message_bytes:
                raise WireError(f"message of {length} bytes exceeds {self._max_message_bytes}")
            body = _parse(self._read(length, deadline, received))
        except (ValueError, RecursionError) as error:
            _close_all(received)
            raise WireError(f"not JSON: {error}") from None
        except BaseException:
            _close_all(received)
            raise
        return Message(body=body, descriptors=tuple(received))

    def close(self) -> None:
        """Close the socket."""
        self.connection.close()

    def _read(self, count: int, deadline: float, received: list[int]) -> bytes:
        chunks = bytearray()
        while len(chunks) < count:
            left = deadline - time.monotonic()
            if left <= 0:
                raise WireTimeoutError("nothing complete arrived in time")
            self.connection.settimeout(left)
            try:
                chunk, descriptors = _receive_some(self.connection, min(count - len(chunks), 1 << 20))
            except TimeoutError:
                raise WireTimeoutError("nothing complete arrived in time") from None
            except OSError as error:
                raise WireClosedError(f"the peer is gone: {error}") from None
            received.extend(descriptors)
            if len(received) > MAX_DESCRIPTORS:
                raise WireError("too many descriptors")
            if not chunk:
                raise WireClosedError("the peer closed the connection")
            chunks += chunk
        return bytes(chunks)


def _parse(payload: bytes) -> dict[str, JsonValue]:
    """One JSON object, without infinities or half characters. Raises `ValueError`, `RecursionError`, `WireError`."""
    text = payload.decode()
    body = json.loads(text, parse_constant=_refuse_constant)
    if not isinstance(body, dict):
        raise WireError(f"expected an object, got {type(body).__name__}")
    if "\\ud" in text or "\\uD" in text:  # a lone surrogate would break whoever prints or stores the text
        json.dumps(body, ensure_ascii=False).encode()
    return body


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _receive_some(connection: socket.socket, count: int) -> tuple[bytes, list[int]]:
    """Some bytes and the descriptors beside them (`socket.recv_fds` without its leak on truncation)."""
    fds = array.array("i")
    chunk, ancillary, flags, _address = connection.recvmsg(
        count, socket.CMSG_SPACE(MAX_DESCRIPTORS * fds.itemsize), socket.MSG_CMSG_CLOEXEC
    )
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - (len(data) % fds.itemsize)])
    if flags & socket.MSG_CTRUNC:  # the kernel dropped what did not fit
        _close_all(list(fds))
        raise WireError("too many descriptors")
    return chunk, list(fds)


def _close_all(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
