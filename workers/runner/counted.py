"""A runner whose kernels Nsight Compute counts: ncu starts it, on the connection to the referee, and prints at its end.

Where ncu is missing or not permitted, `trace` gives each kernel's name and time by torch's profiler.
"""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from workers.ipc.placement import CudaTensorDevice
from workers.ipc.wire import Channel, Message
from workers.profilers import ncu
from workers.runner.answers import (
    ANSWERS,
    MAX_KERNELS,
    MAX_NAME,
    MAX_PROFILE_TEXT,
    MAX_RECORD,
    Acknowledged,
    KernelsTraced,
    ProfilerOutput,
)
from workers.runner.protocol import CountKernels, QuitRunner, RunnerRequest, TraceKernels
from workers.runner.session import Act, RunnerServer

READING_S = 20.0
LIMIT_S = 60.0
ROOT = str(Path(__file__).parent.parent.parent)
"""The folder our packages are imported from."""
LINES = (
    "import sys; sys.path.insert(0, {root!r}); from workers.profilers.ncu_lines import main; "
    "main({record!r}, *{folders!r})"
)
PROGRAM = "import sys; sys.path.insert(0, {root!r}); from workers.runner.counted import inside; inside({fd})"


class CountedSession(RunnerServer):
    """Runs a call between the marks that ncu looks for."""

    def _acts(self) -> dict[type[RunnerRequest], Act]:
        return {**super()._acts(), CountKernels: self._count, TraceKernels: self._trace, QuitRunner: self._quit}

    def _count(self, asked: CountKernels, _message: Message) -> Acknowledged:
        model, arguments = self._models["plain"], self._slots[asked.slot][0]
        runtime: Any = torch.cuda.cudart()  # type: ignore[no-untyped-call]
        model(*arguments)
        self._place.synchronize()
        runtime.cudaProfilerStart()
        model(*arguments)
        self._place.synchronize()
        runtime.cudaProfilerStop()
        return Acknowledged()

    def _trace(self, asked: TraceKernels, _message: Message) -> KernelsTraced:
        from torch.profiler import ProfilerActivity, profile

        model, arguments = self._models["plain"], self._slots[asked.slot][0]
        model(*arguments)
        self._place.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as recorded:
            model(*arguments)
            self._place.synchronize()
        averages: Any = recorded.key_averages()
        times = [(str(event.key)[:MAX_NAME], float(event.device_time_total)) for event in averages]
        return KernelsTraced(kernels=tuple((name, time) for name, time in times if time > 0)[:MAX_KERNELS])

    def _quit(self, _asked: QuitRunner, _message: Message) -> Acknowledged:
        self._leaving = True
        return Acknowledged()


def serve_traced(connection: socket.socket) -> None:
    """Entry point of a session without ncu, for torch's profiler."""
    CountedSession(Channel(connection), CudaTensorDevice()).run()
    os._exit(0)


def serve_counted(connection: socket.socket) -> None:
    """Entry point: run the session below ncu, then send what ncu wrote: counters, its record, samples by line."""
    program = ncu.find_ncu()
    if program is None:
        CountedSession(Channel(connection)).run()
        said = ProfilerOutput(counters="==ERROR== ncu is not installed on this machine")
        Channel(connection).send(ANSWERS.encode(said))
        os._exit(0)
    directory = tempfile.mkdtemp(prefix="kernelwright-ncu-")
    log = str(Path(directory, "counters.csv"))
    descriptor = connection.fileno()
    inner = [sys.executable, "-P", "-c", PROGRAM.format(root=ROOT, fd=descriptor)]
    record = str(Path(directory, "kernel.ncu-rep"))
    done = subprocess.run(
        ncu.command(program, log, record, inner),
        pass_fds=[descriptor],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=LIMIT_S,
    )
    text = Path(log).read_text(encoding="utf-8", errors="replace") if Path(log).exists() else ""
    text = text or done.stdout.decode(errors="replace")
    Channel(connection).send(ANSWERS.encode(counted(program, text, Path(record))))
    os._exit(0)


def counted(program: str, text: str, record: Path) -> ProfilerOutput:
    """What to say of a run below ncu: counters, where there is a record also its content and samples by line."""
    if not record.exists():
        return ProfilerOutput(counters=text[:MAX_PROFILE_TEXT])
    if not ncu.parse(text):  # some versions print nothing where they write a record
        text = _output(ncu.printing(program, str(record))) or text
    lines = _output(
        [sys.executable, "-P", "-c", LINES.format(root=ROOT, record=str(record), folders=ncu.modules_of(program))]
    )
    size = record.stat().st_size
    content = base64.b64encode(record.read_bytes()).decode() if size <= MAX_RECORD else ""
    return ProfilerOutput(
        counters=text[:MAX_PROFILE_TEXT], lines=lines[:MAX_PROFILE_TEXT], record=content, record_bytes=size
    )


def _output(command: list[str]) -> str:
    """What a program prints; empty where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=READING_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def inside(descriptor: int) -> None:
    """The program that ncu looks into."""
    CountedSession(Channel(socket.socket(fileno=descriptor)), CudaTensorDevice()).run()
