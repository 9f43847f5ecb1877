"""Entries that the sandbox's contract suite runs inside sandboxes; they are shown there by a mount."""

import socket

from workers.ipc.wire import Channel


def execute(connection: socket.socket) -> None:
    """Run a piece of Python that came over the socket, with `channel` to answer on; `result` is sent at its end."""
    channel = Channel(connection)
    scope = {"channel": channel, "connection": connection, "result": None}
    exec(str(channel.receive(timeout_s=30).body["code"]), scope)
    channel.send({"result": scope["result"]})  # type: ignore[dict-item]


def stop_at_once(connection: socket.socket) -> None:
    """Return without a word."""
    connection.close()
