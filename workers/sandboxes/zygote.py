"""The warm zygote: imports torch once, touches no tensor, and forks a confined child for each request.

It must stay single-minded: after any parallel work in torch, libgomp hangs in forked children. It is started with an
empty environment and holds no credentials. For every request it forks a *starter*, which makes namespaces and forks
the *supervisor* (PID 1 of the new namespace), which builds the view, forks the process itself, and watches it.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from services.domain.codec import from_data
from services.domain.events import JsonValue
from workers.ipc.wire import Channel, Message, WireClosedError
from workers.sandboxes import confine, linux, seccomp, view
from workers.sandboxes.freezer import TreeFreezer
from workers.sandboxes.plan import NAMESPACES, Level, SandboxPlan
from workers.sandboxes.supervisor import CHUNK, MemoryKills, Supervisor

REQUEST_TIMEOUT_S = 30.0


def become_warm(preload: tuple[str, ...]) -> None:
    """Import torch and what is named; of `module:function` the function is also called. What they leave is in no later
    collection of the garbage collector, which waits meanwhile: it looked through all of torch for a quarter of the
    processor time that this takes."""
    gc.disable()
    for name in ("torch", *preload):
        module, _, function = name.partition(":")
        imported = importlib.import_module(module)
        if function:
            getattr(imported, function)()
    gc.freeze()
    gc.enable()


def main(control: int, preload: tuple[str, ...], about: Mapping[str, JsonValue] | None = None) -> None:
    """Serve fork requests on the descriptor `control` until the worker goes away; `about` joins the first message."""
    become_warm(preload)
    import torch

    linux.adopt_orphans()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the worker's to handle; it closes the socket
    channel = Channel(socket.socket(fileno=control))
    channel.send({"ready": True, "torch": torch.__version__, "file": str(torch.__file__), **(about or {})})
    while True:
        select.select([channel.connection], [], [])
        try:
            request = channel.receive(timeout_s=REQUEST_TIMEOUT_S)
        except WireClosedError:
            return
        if os.fork() == 0:
            _start(channel, request)
        request.close()


def _start(control: Channel, request: Message) -> NoReturn:
    """In the starter: make the namespaces and the supervisor, tell the worker its PID, leave."""
    control.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    connection, status, freezer, *rest = request.descriptors
    channel = Channel(socket.socket(fileno=status))
    try:
        plan = from_data(SandboxPlan, request.body["plan"])
        deadline = time.monotonic() + plan.limits.wall_s
        confine.enter_namespaces(plan)
        supervisor = os.fork()
        if supervisor == 0:
            _supervise(plan, connection, channel, freezer, rest, deadline)
        handle = os.pidfd_open(supervisor)
        channel.send({"supervisor": supervisor}, [handle])
    except BaseException as error:  # noqa: BLE001 - reported to the worker; nothing may return into the zygote
        _report_failure(channel, error)
    os._exit(0)


def _report_failure(channel: Channel, error: BaseException) -> NoReturn:
    try:
        report_failure(channel, error)
    finally:
        os._exit(1)


def report_failure(channel: Channel, error: BaseException) -> None:
    """Tell the worker why a process does not start, and the cause where people can do something about it."""
    failure = {"error": f"{type(error).__name__}: {error}"}
    if isinstance(error, linux.NamespaceError):
        failure["cause"] = NAMESPACES
    channel.send(failure, timeout_s=5.0)


def _supervise(
    plan: SandboxPlan, connection: int, channel: Channel, freezer: int, rest: list[int], deadline: float
) -> NoReturn:
    """In the supervisor: build the view, start the process, watch it to its end."""
    group, archive = ([], rest.pop()) if plan.contained else (rest, None)
    try:
        kills = MemoryKills.open() if plan.contained else None
        linux.set_dumpable(dumpable=False)  # at level `user` the process has our user, and may not look into us
        linux.adopt_orphans()
        if plan.level is not Level.LIMITS:
            socket.sethostname("sandbox")
            view.build(plan, archive)
        reading, writing = os.pipe2(os.O_CLOEXEC)
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, CHUNK)
        process = os.fork()
        if process == 0:
            _become(plan, connection, channel, group, writing)
        os.set_blocking(reading, False)
        watched = set() if kills is None else {kills.descriptor}
        linux.close_descriptors({reading, channel.connection.fileno(), freezer, *watched})
        if plan.level is not Level.LIMITS:
            linux.keep_capabilities(1 << linux.CAP_KILL)
        supervisor = Supervisor(
            plan=plan,
            process=process,
            output=reading,
            status=channel.connection,
            deadline=deadline,
            kills=kills,
            freezer=None if plan.level is Level.LIMITS else TreeFreezer(freezer, process),
        )
        supervisor.watch()
        supervisor.report()
    except BaseException as error:  # noqa: BLE001 - reported to the worker; nothing may return into the zygote
        _report_failure(channel, error)
    os._exit(0)


def _become(plan: SandboxPlan, connection: int, channel: Channel, group: list[int], output: int) -> NoReturn:
    """In the process itself: confine it, then run the entry or the command."""
    try:
        linux.die_with_parent(signal.SIGKILL)
        os.setpgid(0, 0)  # so that all who stay in its group can be killed at once
        for procs in group:
            os.write(procs, b"0")
        confine.reset_signals()
        confine.redirect_output(output)
        confine.set_environment(plan)
        os.chdir(plan.directory)  # while we still may: its parents can be private
        confine.give_up_privileges(plan)
        linux.die_with_parent(signal.SIGKILL)  # again: a change of user clears it
        confine.apply_limits(plan)
        if plan.contained:  # when its memory is used up, the kernel shall take this process, not those that watch it
            Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
        if plan.filtered:
            seccomp.forbid_confining()
        linux.close_descriptors({connection, channel.connection.fileno()})
        channel.send({"ready": True})
    except BaseException as error:  # noqa: BLE001 - reported to the worker; nothing may return into the zygote
        _report_failure(channel, error)
    if plan.entry is None:
        _execute(plan, channel)
    channel.close()
    _call(plan.entry, connection)


def _execute(plan: SandboxPlan, channel: Channel) -> NoReturn:
    os.set_inheritable(channel.connection.fileno(), False)
    try:
        os.execvpe(plan.command[0], list(plan.command), plan.environment)  # noqa: S606 - a list, no shell
    except OSError as error:
        channel.send({"missing": f"{plan.command[0]}: {error.strerror}"})
        os._exit(127)


def _call(entry: str, connection: int) -> NoReturn:
    """Run the entry as a program would: uncaught exceptions are printed and end it with code 1."""
    code = 1
    try:
        module, _, name = entry.partition(":")
        getattr(importlib.import_module(module), name)(socket.socket(fileno=connection))
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)  # noqa: T201 - what Python does
    except BaseException:  # noqa: BLE001 - the candidate's exception; its text is the output
        traceback.print_exc()
    finally:
        _flush()
        os._exit(code & 0xFF)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
