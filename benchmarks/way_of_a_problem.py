"""The way of a problem: which of our modules a submitted problem passes through, from POST to the referee's verdict.

A *stop* is a module of ours through which the problem passes. Precisely, while one job runs from `POST /api/v1/jobs`
until the referee has what it needs for its first verdict:

- A module *has the problem in hand* in a call that has the problem's text among its arguments, or in the variables
  that a nested function took along: as text or bytes, in a document (dict, list), a domain value or a request's body
  that holds it, in a function that took it along, or in an object of ours that keeps it, be it an argument or `self`.
  An object that only refers to one that keeps it has it not in hand, nor has what uses the loaded problem: that is the
  end of the way. What agents may read does not count: the text is recognised by its held-out part.
- A module *hands it on* when it calls another module of ours with it, or sends it to the database or another process.
  A call that gives nothing but an object that keeps the problem counts where the caller has the problem in hand too.
- A stop hands it on, directly or through other stops, to the database, to another process or to where it is run; the
  module that runs it is the last stop. A module that only reads it and returns (a lint, a codec, a hash) is none.

Transports (how a transaction runs, how processes talk) count like any other module.

Not counted: imports, what is built at start, and the ways of the candidate and of the report.

    python -m benchmarks.way_of_a_problem            # embedded: one process, SQLite
    python -m benchmarks.way_of_a_problem --celery   # a worker of its own over Redis (KERNELWRIGHT_REDIS_URL)
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import functools
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CellType, FrameType, FunctionType, MethodType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OURS = ("web", "orchestrator", "workers", "agents", "storage", "services", "kernelwright")
MARK = "the-problem-itself"
PROBLEM = f"""
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 1.5


def get_inputs():
    return [torch.randn(256, 256)]


def get_init_inputs():
    return []


def held_out():
    return [torch.randn(64, 100)]  # {MARK}


HELD_OUT = [held_out]
"""
MESSAGES = ("workers.referee.boundary.requests", "workers.referee.boundary.problem_messages", "workers.runner.protocol")
"""What processes say to each other, as types."""
MOST = 10_000
"""Entries of a document that are looked through."""
OUTSIDE = "(outside)"
"""The database, or another process."""
ENTRY = "web.routers.jobs"
"""Where the problem comes in; what wraps routes is before it."""
ENTRIES = {"workers.referee.server:serve": "serve", "workers.referee.problem_process:serve": "serve_problem"}
"""Functions that sandboxes start, and those of this module that trace them."""
RUNS_IT = "workers.referee.problem.reference_problem"
"""Where the problem becomes a module that runs."""
JUDGES = "workers.referee.evaluation"
"""Where the referee goes on to its verdict."""


def carries(value: object, depth: int = 6) -> bool:
    """Whether a value is the problem's text, or a document, domain value or request's body that holds it."""
    if isinstance(value, str):
        return MARK in value
    if isinstance(value, bytes):
        return MARK.encode() in value
    if depth == 0:
        return False
    if isinstance(value, Mapping):
        return len(value) < MOST and any(carries(item, depth - 1) for item in list(value.values()))
    if isinstance(value, list | tuple):
        return len(value) < MOST and any(carries(item, depth - 1) for item in list(value))
    module = type(value).__module__
    if module.startswith(("services.domain.", *MESSAGES)) and dataclasses.is_dataclass(value):
        return any(carries(getattr(value, field.name, None), depth - 1) for field in dataclasses.fields(value))
    if module.startswith("web.") and hasattr(type(value), "model_fields"):
        return any(carries(item, depth - 1) for item in vars(value).values())
    return False


def keeps(value: object) -> bool:
    """Whether a value is an object of ours, a method of one, or a function, that keeps the problem."""
    if isinstance(value, functools.partial):
        kept: list[object] = [value.func, *value.args, *value.keywords.values()]
        return any(carries(item) or keeps(item) for item in kept)
    if isinstance(value, MethodType):
        return keeps(value.__self__)
    if isinstance(value, FunctionType):
        return any(carries(item) or _attributes_carry(item) for item in map(_content, value.__closure__ or ()))
    return _attributes_carry(value)


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None


def _attributes_carry(value: object) -> bool:
    module = type(value).__module__
    if module.partition(".")[0] not in OURS or module == RUNS_IT or isinstance(value, type):
        return False
    slots = [name for kind in type(value).__mro__ for name in vars(kind).get("__slots__", ())]
    kept = [*getattr(value, "__dict__", {}).values(), *(getattr(value, name, None) for name in slots)]
    return any(carries(item) for item in kept)


def module_of(frame: FrameType) -> str | None:
    """The module of ours that a frame runs in."""
    name = str(frame.f_globals.get("__name__"))
    return name if name.partition(".")[0] in OURS else None


def given(frame: FrameType) -> list[object]:
    """A call's arguments, and what it took along as a nested function."""
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    values = frame.f_locals
    return [values.get(name) for name in (*code.co_varnames[:count], *code.co_freevars)]


def handed(frame: FrameType) -> bool:
    """Whether a call has the problem in hand."""
    values = given(frame)
    return any(map(carries, values)) or any(map(keeps, values))


class Tracer:
    """Notes who hands the problem to whom, in one process."""

    def __init__(self, descriptor: int) -> None:
        """`descriptor`: where lines go, one for each pair of modules that is seen for the first time."""
        self._descriptor = descriptor
        self._seen: set[tuple[str, str]] = set()

    def start(self) -> None:
        """Trace this thread and all that are started from now on."""
        threading.setprofile(self._look)
        sys.setprofile(self._look)

    def _look(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call" and getattr(argument, "__name__", "") in ("sendall", "sendmsg"):
            if any(carries(value) for value in frame.f_locals.values()):
                self._sent(frame)
        elif event == "call":
            name = str(frame.f_globals.get("__name__"))
            if name.partition(".")[0] in OURS:
                self._called(frame, name)
            elif name == "sqlalchemy.engine.base" and frame.f_code.co_name == "execute":
                self._sent(frame, only="storage")  # whatever it writes: texts are stored compressed

    def _called(self, frame: FrameType, name: str) -> None:
        caller = _caller(frame)
        giver = OUTSIDE if caller is None else str(module_of(caller))
        if giver == name or (giver, name) in self._seen:
            return
        values = given(frame)
        if any(map(carries, values)) or (any(map(keeps, values)) and caller is not None and handed(caller)):
            self._note(giver, name)

    def _sent(self, frame: FrameType, only: str = "") -> None:
        """The problem leaves for the database or another process from the nearest call that has it in hand."""
        at: FrameType | None = frame
        while at is not None and (module_of(at) is None or not handed(at)):
            at = at.f_back
        name = str(module_of(at)) if at is not None else ""
        if name and name.startswith(only):
            self._note(name, OUTSIDE)

    def _note(self, giver: str, taker: str) -> None:
        if giver == taker or (giver, taker) in self._seen:
            return
        self._seen.add((giver, taker))
        os.write(self._descriptor, f"{time.monotonic():.6f} {giver} {taker}\n".encode())


def _caller(frame: FrameType) -> FrameType | None:
    """The nearest call of ours up the stack; none for a task that an event loop goes on with."""
    at = frame.f_back
    while at is not None and module_of(at) is None:
        at = None if at.f_globals.get("__name__") == "asyncio.events" else at.f_back
    return at


def serve(connection: socket.socket) -> None:
    """The referee, traced; what it sees is printed, which is all that leaves its sandbox."""
    from workers.referee.server import serve as referee

    Tracer(os.dup(1)).start()
    referee(connection)


def serve_problem(connection: socket.socket) -> None:
    """The process that runs the problem, traced in the same way."""
    from workers.referee.problem_process import serve as problem

    Tracer(os.dup(1)).start()
    problem(connection)


def trace_referees(report: Path) -> None:
    """Have the sandboxes of this process start referees and problems traced, and keep what these print."""
    from kernelwright.wiring import workers as wiring
    from services.ports.sandboxes import Mount, SandboxLimits
    from workers.sandboxes.forked import ForkedProcess
    from workers.sandboxes.process import ProcessSandbox

    class TracedSandbox(ProcessSandbox):
        """Notes what its referees and problems print."""

        def fork(
            self,
            entry: str,
            limits: SandboxLimits,
            *,
            mounts: Sequence[Mount] = (),
            environment: Mapping[str, str] = {},
        ) -> ForkedProcess:
            if entry not in ENTRIES:
                return super().fork(entry, limits, mounts=mounts, environment=environment)
            shown = [*mounts, Mount(path=ROOT / "benchmarks")]
            process = super().fork(f"{__spec__.name}:{ENTRIES[entry]}", limits, mounts=shown, environment=environment)
            process.when_ended(lambda: keep(process))
            return process

    def keep(process: ForkedProcess) -> None:
        status = process.wait(0)
        with report.open("a") as file:
            file.write(status.output if status is not None else "")

    def sandbox_maker(_settings: object) -> Callable[[str], TracedSandbox]:
        return lambda _device: TracedSandbox(preload=("torch",))

    vars(wiring)["sandbox_maker"] = sandbox_maker  # the installation's wiring is what is traced, but for this


@contextlib.contextmanager
def celery_worker(environment: Mapping[str, str], report: Path) -> Iterator[None]:
    """A traced worker in a process of its own."""
    command = [sys.executable, "-m", __spec__.name, "--worker", str(report)]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment})
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def work(report: Path) -> None:
    """The worker's process."""
    from kernelwright.settings import load_settings
    from kernelwright.wiring.workers import make_celery_worker
    from workers.queue.tasks import worker_options

    trace_referees(report)
    Tracer(os.open(report, os.O_WRONLY | os.O_APPEND)).start()
    name = f"way@{socket.gethostname()}"
    make_celery_worker(load_settings(), "cpu", name).worker_main(["worker", *worker_options("cpu", name)])


async def submit_and_finish(report: Path) -> str:
    """POST a job and run it to its end; its status."""
    import httpx

    from kernelwright.settings import load_settings
    from kernelwright.wiring.installation import make_orchestrator, open_installation
    from kernelwright.wiring.queues import open_queue
    from kernelwright.wiring.web import limiting, make_web_services
    from web.app import create_app

    Tracer(os.open(report, os.O_WRONLY | os.O_APPEND)).start()  # before the database's threads begin
    settings = load_settings()
    async with open_installation(settings) as here, limiting(here) as rates, open_queue(here) as queue:
        app = create_app(make_web_services(here, host="127.0.0.1", local_worker=True, rates=rates))
        orchestrator = make_orchestrator(here, queue)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            problem = {"name": "way", "source": PROBLEM, "path": "way.py"}
            body = {"problem": problem, "budget": {"rounds": 1}, "baselines": ["eager"]}
            answer = await client.post("/api/v1/jobs", json=body)
            answer.raise_for_status()
        job = await orchestrator.run_job(answer.json()["id"])
        sys.setprofile(None)
        return job.status.value


def stops(report: Path) -> list[str]:
    """The stops, in the order in which the problem was first handed on by them."""
    lines = sorted(parts for line in report.read_text().splitlines() if len(parts := line.split()) == 3)
    takes = {taker: float(at) for at, _, taker in reversed(lines)}
    until = takes.get(JUDGES, float("inf"))
    pairs = [(float(at), giver, taker) for at, giver, taker in lines if float(at) <= until]
    known = [pair for pair in pairs if pair[1] != OUTSIDE and pair[2] != ENTRY]
    passing = {OUTSIDE, RUNS_IT}
    while more := {giver for _, giver, taker in known if taker in passing} - passing:
        passing |= more
    first = {giver: at for at, giver, taker in reversed(known) if taker in passing}
    first[RUNS_IT] = takes[RUNS_IT]
    return sorted(first, key=lambda name: first[name])


def main() -> None:
    """Trace one submission and print its stops."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--celery", action="store_true", help="With a worker of its own over Redis.")
    parser.add_argument("--pairs", action="store_true", help="Print who handed it to whom, too.")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker is not None:
        work(given.worker)
        return
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "way"
        report.touch()
        environment = {"KERNELWRIGHT_HOME": folder, "KERNELWRIGHT_EMBEDDER": "hashing"}
        if given.celery:
            environment |= {"KERNELWRIGHT_QUEUE": "celery", "KERNELWRIGHT_REDIS_PREFIX": secrets.token_hex(4)}
        os.environ.update(environment)
        trace_referees(report)
        with celery_worker(environment, report) if given.celery else contextlib.nullcontext():
            status = asyncio.run(submit_and_finish(report))
        if given.pairs:
            print(report.read_text())
        found = stops(report)
    for number, name in enumerate(found, start=1):
        print(f"{number:3}  {name}")
    print(f"{len(found)} stops {'with Celery' if given.celery else 'embedded'}; the job: {status}")


if __name__ == "__main__":
    main()
