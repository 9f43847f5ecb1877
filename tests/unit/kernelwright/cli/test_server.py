"""The socket that the API listens on."""

from __future__ import annotations

import socket

import pytest

from kernelwright.cli.server import listening
from services.domain.errors import UserError


def test_answers_on_a_kept_connection_do_not_wait_for_acknowledgements() -> None:
    with listening("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_a_busy_port_is_named_with_what_to_do() -> None:
    with listening("127.0.0.1", 0) as first, pytest.raises(UserError, match="choose another with --port"):  # noqa: SIM117
        with listening("127.0.0.1", first.getsockname()[1]):
            pass
