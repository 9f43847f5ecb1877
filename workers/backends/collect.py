"""Entry of the compile sandbox: import a candidate's module and pass what it wants compiled to the worker.

Runs foreign code; whatever it says is judged by the worker (`workers.backends.cpp`). Messages out: first `{"reached":
[…]}`, what the names in the module lead to, said before any foreign code runs; then `{"compile": source,
"flags": […], "language": "cpp"}`, answered by `{"built": true}` with the library as a descriptor or by
`{"failed": text}`; last `{"done": true}` or `{"raised": text}`.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import traceback
import types
from pathlib import Path

import kernelwright_rt
from services.domain.codec import to_data
from services.domain.events import JsonValue
from workers import extensions
from workers.backends.reached import reached
from workers.ipc.wire import Channel

BUILD_TIMEOUT_S = 600.0
MODULE = "candidate"


def serve(connection: socket.socket) -> None:
    """Receive `{"source": text}`, import it, answer, end without cleaning up."""
    channel = Channel(connection)
    source = channel.receive(timeout_s=30.0).body["source"]
    assert isinstance(source, str)
    kernelwright_rt.set_builder(lambda text, flags, language: _ask(channel, text, flags, language))
    if extensions.wanted_by(source):
        extensions.adopt_load_inline()
    channel.send({"reached": [to_data(one) for one in reached(source)]})  # before anything of the module's own runs
    channel.send(_outcome(source))
    os._exit(0)


def _ask(channel: Channel, source: str, flags: tuple[str, ...], language: str) -> str:
    channel.send({"compile": source, "flags": list(flags), "language": language})
    answer = channel.receive(timeout_s=BUILD_TIMEOUT_S)
    if "failed" in answer.body:
        raise kernelwright_rt.CompileError(str(answer.body["failed"]))
    return f"/proc/self/fd/{answer.descriptors[0]}"


def _outcome(source: str) -> dict[str, JsonValue]:
    path = Path(tempfile.mkdtemp(), f"{MODULE}.py")
    path.write_text(source, encoding="utf-8")
    module = types.ModuleType(MODULE)
    module.__file__ = str(path)
    sys.modules[MODULE] = module  # dataclasses, among others, look their module up there
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)  # noqa: S102 - what this sandbox is for
    except BaseException as error:  # noqa: BLE001 - the candidate's exception, SystemExit too
        return {"raised": _describe(error, str(path))}
    return {"done": True}


def _describe(error: BaseException, path: str) -> str:
    """The traceback from the candidate's own frames on, with its file shown as `candidate.py`."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != path:
        frames = frames.tb_next
    lines = traceback.format_exception(type(error), error, frames)
    return "".join(lines).replace(path, f"{MODULE}.py").strip()
