"""Entries that the process sandbox runs in itself to learn what a level really gives."""

from __future__ import annotations

import importlib
import os
import socket
import sys
from pathlib import Path

from services.domain.events import JsonValue
from workers.ipc.wire import Channel


def describe(connection: socket.socket) -> None:
    """Send what the process sees: its torch, whether it reads torch's files, the library's and ours, its user."""
    import torch

    body: dict[str, JsonValue] = {"torch": torch.__version__, "file": str(torch.__file__), "uid": os.getuid()}
    try:
        for path in (Path(torch.__file__), Path(os.__file__), Path(__file__)):
            path.read_bytes()
        importlib.import_module("torch.utils.benchmark")
        body["prefix"] = sys.prefix
    except (OSError, ImportError) as error:
        body["unreadable"] = str(error)
    channel = Channel(connection)
    channel.send(body)
    channel.close()
