"""Stopping a sandboxed process tree and letting it run again: one byte a command, on a socket of its own.

The sandbox's supervisor is the other end. It is the first process of the candidate's PID namespace, so one signal
reaches everything in there, whatever the candidate forked or detached. Standard library only.
"""

from __future__ import annotations

import socket

from services.domain.errors import InfrastructureError

FREEZE, THAW, INSPECT = b"f", b"t", b"i"
STILL, RAN = b"s", b"r"
"""Answers to `INSPECT`; the other commands are answered by themselves."""
LIMIT_S = 10.0
"""For the supervisor, which is trusted, to answer: on a busy machine it waits for its turn."""


class FreezerError(InfrastructureError):
    """The supervisor does not answer: the process tree cannot be stopped, or cannot be woken."""


class Freezer:
    """The referee's end. Not thread-safe. A tree that has ended answers nothing, and is left to whoever asks it."""

    def __init__(self, connection: socket.socket, *, limit_s: float = LIMIT_S) -> None:
        self._connection = connection
        self._limit_s = limit_s
        self._unread = 0
        self._ended = False
        self.is_frozen = False

    def thaw(self) -> None:
        """Let the tree run; does not wait for the supervisor to have done so."""
        self._send(THAW)
        self._unread += 1
        self.is_frozen = False

    def freeze(self) -> None:
        """Stop the tree; its first process has stopped when this returns. Raises `FreezerError`."""
        self._answer(FREEZE)
        self.is_frozen = True

    def is_still(self) -> bool:
        """Whether nothing in the tree has run since it was stopped. Raises `FreezerError`."""
        return self._answer(INSPECT) != RAN

    def was_thawed(self) -> bool:
        """Whether the supervisor has done what `thaw` asked for."""
        try:
            self._drain(0)
        except FreezerError:
            return False
        return True

    def close(self) -> None:
        """Hang up; the tree stays as it is."""
        self._connection.close()

    def _answer(self, command: bytes) -> bytes:
        self._send(command)
        self._unread += 1
        return self._drain(0)

    def _drain(self, left: int) -> bytes:
        """Read answers until so many are outstanding; the last one, empty where the tree has ended."""
        answer = b""
        while self._unread > left and not self._ended:
            self._connection.settimeout(self._limit_s)
            try:
                answer = self._connection.recv(1)
            except TimeoutError:
                raise FreezerError(
                    f"the sandbox's supervisor did not answer within {self._limit_s:.0f} s: the candidate's processes "
                    f"could not be stopped or woken"
                ) from None
            except OSError:
                answer = b""
            self._ended = not answer
            self._unread -= 1
        return answer

    def _send(self, command: bytes) -> None:
        try:
            self._connection.sendall(command)
        except OSError:
            self._ended = True
