"""Entry of the compile sandbox: import a candidate's module and pass what it wants compiled to the worker.

Runs foreign code; whatever it says is judged by the worker (`workers.backends.cpp`). Messages out: first `{"reached":
[…]}`, what the names in the module lead to, said before any foreign code runs; then `{"compile": source,
"flags": […], "language": "cpp"}`, answered by `{"built": true}` with the library as a descriptor or by
`{"failed": text}`; last `{"done": true}` or `{"raised": text}`.
"""

from __future__ import annotations

import ast
import os
import socket
import sys
import tempfile
import traceback
import types
from pathlib import Path
from typing import Any

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
        compile_ahead(source, module.__dict__)
    except BaseException as error:  # noqa: BLE001 - the candidate's exception, SystemExit too
        return {"raised": _describe(error, str(path))}
    return {"done": True}


MAKERS = ("load_inline", "compile_cpp", "compile_cuda")


def compile_ahead(source: str, names: dict[str, Any]) -> None:
    """Have compiled what is only compiled when the model is constructed, where that depends on the module alone."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef) or function.name != "__init__":
            continue
        scope = dict(names)
        for statement in function.body:
            makers = _makers(statement)
            for call in makers:
                _attempt(ast.Expression(call), scope)
            if not makers and isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                _attempt(ast.Module([statement], []), scope)


def _makers(node: ast.AST) -> list[ast.Call]:
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    return [one for one in calls if getattr(one.func, "attr", getattr(one.func, "id", "")) in MAKERS]


def _attempt(code: ast.Expression | ast.Module, scope: dict[str, Any]) -> None:
    """Run a piece of a function on its own; what it lacks without its arguments is no fault of it."""
    try:
        exec(compile(code, MODULE, "eval" if isinstance(code, ast.Expression) else "exec"), scope)  # noqa: S102
    except kernelwright_rt.CompileError:
        raise
    except Exception:  # noqa: BLE001 - it needs what is only known when the model is constructed
        return


def _describe(error: BaseException, path: str) -> str:
    """The traceback from the candidate's own frames on, with its file shown as `candidate.py`."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != path:
        frames = frames.tb_next
    lines = traceback.format_exception(type(error), error, frames)
    return "".join(lines).replace(path, f"{MODULE}.py").strip()
