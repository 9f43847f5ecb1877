"""The worker's hold on one referee process and on the runners it asked for. Runs nobody's code."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from services.domain.codec import to_data
from services.domain.errors import InfrastructureError, SandboxError
from services.domain.events import JsonValue
from services.domain.tunables import Setting
from services.ports.devices import BuildResult
from services.ports.sandboxes import ExitStatus, Mount, Sandbox, SandboxLimits, SandboxProcess
from workers.devices.gpu_lock import DeviceLock
from workers.ipc.wire import Channel, Message, WireError, WireTimeoutError
from workers.profilers.perf_counters import PerfProfiler
from workers.profilers.usage import activity, cpu_seconds
from workers.sampler.attribution import Attribution
from workers.sampler.handle import SamplerHandle

POLL_S = 0.1
MAX_RUNNERS = 8
USES_DEVICE = ("prepare", "baselines", "model")
"""Requests that use the device from their beginning; an evaluation asks for it once its candidate is built."""
STOPPED_ROLES = ("candidate", "baseline")
"""Processes that run only while they are asked; those below a profiler belong to it."""
MAX_BUILDS = 64
"""Of one candidate: its settings."""
EXIT_WAIT_S = 2.0
ENTRIES = {"candidate": "workers.runner.session:serve", "baseline": "workers.referee.baseline:serve"}
GPU_ENTRIES = {
    "candidate": "workers.runner.session:serve_on_gpu",
    "baseline": "workers.referee.baseline:serve_on_gpu",
    "counted": "workers.runner.counted:serve_counted",
    "traced": "workers.runner.counted:serve_traced",
}
Answer = dict[str, Any]


class CancelledError(InfrastructureError):
    """The caller does not want the result any more."""


def _ended(status: ExitStatus | None) -> str:
    """How a process ended, and the last that it wrote, as the end of a sentence."""
    if status is None:
        return ""
    end = f"signal {status.signal}" if status.signal is not None else f"exit code {status.code}"
    why = " (out of memory)" if status.out_of_memory else " (out of time)" if status.timed_out else ""
    why = f" (it {status.exhaustion})" if status.exhaustion is not None else why
    said = status.output.strip()[-SAID:]
    return f"; it ended with {end}{why}" + (f" and wrote:\n{said}" if said else "")


class RefereeLostError(InfrastructureError):
    """The referee process ended or does not answer. Attribute `status`: how it ended, if it did."""

    def __init__(self, reason: str, status: ExitStatus | None, doing: Answer) -> None:
        self.status = status
        self.doing = doing
        super().__init__(reason)


SAID = 2000
"""Characters of what a referee wrote last that its end is explained with."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What the processes of one conversation may use."""

    referee: SandboxLimits
    runner: SandboxLimits
    baseline: SandboxLimits
    environment: Mapping[str, str]
    mounts: tuple[Mount, ...] = ()
    """What all of them see beside the installation (a GPU's device nodes)."""
    profiler_mounts: tuple[Mount, ...] = ()
    """What a process below a profiler sees besides."""
    entries: Mapping[str, str] = field(default_factory=lambda: ENTRIES)
    """Entry points by role."""
    answer_s: float = 10.0
    """Seconds for a message that was begun to arrive, and for an answer to be read."""


@dataclass(kw_only=True)
class Work:
    """What the current conversation is about: how to build, and what a build lets its runner see."""

    build: Callable[[Setting], BuildResult] | None = None
    """Compiles the candidate with values of its `TUNABLES`; with none, as it stands."""
    view: Callable[[BuildResult], tuple[Sequence[Mount], Mapping[str, str]]] | None = None
    cancelled: Callable[[], bool] = field(default=lambda: False)
    builds: dict[str, Future[Any]] = field(default_factory=dict)
    """What was begun, by setting."""
    attribution: Attribution | None = None
    """Where the judged candidate's time went, once the referee has asked."""
    faults: list[tuple[int, int]] = field(default_factory=list)
    """Whenever the referee asked: how many calls there had been, and how many page faults."""

    def begin(self, setting: Setting) -> Future[Any]:
        """Build in a thread: so the referee can go on, and a cancellation is noticed meanwhile."""
        build, key = self.build, _key(setting)
        if build is None:
            raise InfrastructureError("there is nothing to build")
        if key not in self.builds:
            if len(self.builds) >= MAX_BUILDS:
                raise InfrastructureError(f"the referee asked for more than {MAX_BUILDS} builds of one candidate")
            self.builds[key] = _in_thread(lambda: build(setting))
        return self.builds[key]

    def built(self, setting: Setting) -> BuildResult | None:
        """The finished build of a setting, if there is one."""
        future = self.builds.get(_key(setting))
        done = future is not None and future.done() and future.exception() is None
        return future.result() if future is not None and done else None


class RefereeProcess:
    """One referee with its runners. Not thread-safe: one conversation at a time. Raises `InfrastructureError`s."""

    def __init__(self, sandbox: Sandbox, terms: Terms, profiler: PerfProfiler, lock: DeviceLock | None = None) -> None:
        self._sandbox = sandbox
        self._terms = terms
        self._lock = lock
        self._profiler = profiler
        self._runners: dict[int, tuple[str, SandboxProcess]] = {}
        self._next_handle = 1
        self._counting: Future[dict[str, float]] | None = None
        self._samplers: dict[int, SamplerHandle] = {}
        """Of candidates on the CPU, by the runner's handle."""
        self._progress: Answer = {}
        self._process = sandbox.fork(
            "workers.referee.server:serve", terms.referee, mounts=terms.mounts, environment=terms.environment
        )
        self._channel = Channel(self._process.socket)

    def ask(self, body: Answer, work: Work, *, limit_s: float) -> Answer:
        """One request and the conversation it takes. Raises `RefereeLostError`, `CancelledError`."""
        self._progress = {}
        try:
            if body.get("op") in USES_DEVICE:
                self._hold(work)
            deadline = time.monotonic() + limit_s
            self._channel.send(body)
            while True:
                message = self._next(work, deadline)
                if message.body.get("done") is True:
                    message.close()
                    return dict(message.body)
                deadline += self._serve(message, work)
        except WireTimeoutError as error:
            raise self._lost(str(error), lives=True) from None
        except WireError as error:
            raise self._lost(str(error)) from None
        finally:
            self._end_candidates()
            if self._lock is not None:
                self._lock.release()

    def close(self) -> None:
        """Kill the referee and everything it asked for."""
        for _, process in list(self._runners.values()):
            process.kill()
        self._runners.clear()
        for handle in list(self._samplers):
            self._end_sampling(handle)
        self._process.kill()
        self._channel.close()

    def _next(self, work: Work, deadline: float) -> Message:
        """The next message; polls for cancellation and for the end of the time while there is none."""
        while True:
            readable, _, _ = select.select([self._channel.connection], [], [], POLL_S)
            if not readable:
                for sampler in self._samplers.values():
                    sampler.drain()
            if work.cancelled():
                raise CancelledError("cancelled")
            if time.monotonic() > deadline:  # looked at for every message: a flood of them must not keep us
                raise self._lost("the referee did not answer in time", lives=True)
            if readable:
                return self._channel.receive(timeout_s=self._terms.answer_s)

    def _lost(self, reason: str, *, lives: bool = False) -> RefereeLostError:
        """`lives`: it was only silent, so there is no end to wait for."""
        status = None if lives else self._process.wait(EXIT_WAIT_S)
        return RefereeLostError(f"the referee is gone: {reason}{_ended(status)}", status, self._progress)

    def _hold(self, work: Work) -> float:
        """Have the device to ourselves until the conversation ends; the seconds that took to get."""
        waited = 0.0 if self._lock is None else self._lock.acquire(work.cancelled)
        if waited is None:
            raise CancelledError("cancelled")
        return waited

    def _serve(self, message: Message, work: Work) -> float:
        """Do what the referee asks; the seconds that the device was waited for."""
        body = dict(message.body)
        message.close()
        if "progress" in body:
            self._progress = body
            return 0.0
        descriptors: list[int] = []
        try:
            holds = body.get("ask") == "hold"
            answer = {"waited_s": self._hold(work)} if holds else self._answer(body, work, descriptors)
        except CancelledError:
            raise
        except (InfrastructureError, KeyError, TypeError, ValueError) as error:
            answer = {"ok": False, "error": str(error)}
        try:
            self._channel.send({"ok": True, **answer}, descriptors, timeout_s=self._terms.answer_s)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        waited = answer.get("waited_s")
        return waited if isinstance(waited, float) else 0.0

    def _answer(self, body: Answer, work: Work, descriptors: list[int]) -> Answer:
        ask = body.get("ask")
        if ask == "begin_build":
            work.begin(_setting(body))
            return {}
        if ask == "build":
            return _build(work, _setting(body))
        if ask == "spawn":
            return self._spawn(str(body.get("role")), work, _setting(body), descriptors)
        process = self._runners[int(body["handle"])][1]
        if ask == "kill":
            self._end_sampling(int(body["handle"]))
            process.kill()
            del self._runners[int(body["handle"])]
            status = process.wait(EXIT_WAIT_S)
            return {"output_cut": status is not None and status.output_cut}
        if ask == "exit":
            return _described(process)
        if ask == "cpu":
            pid = _pid(process)
            return {"seconds": None if pid is None else cpu_seconds(pid)}
        if ask == "activity":
            pid = _pid(process)
            return {"cpu_s": None} if pid is None else activity(pid)
        return self._seen(body, process, work)

    def _seen(self, body: Answer, process: SandboxProcess, work: Work) -> Answer:
        """What samples and counters say of a runner."""
        ask = body.get("ask")
        if ask == "sampling":
            self._samplers[int(body["handle"])].switch(on=body["on"] is True)
            return {}
        if ask == "samples":
            return self._sampled(self._samplers[int(body["handle"])], body["windows"], body["calls"], work)
        if ask == "profile":
            return self._start_counting(process, min(float(body["seconds"]), 2.0))
        if ask == "counters":
            return self._counters()
        raise InfrastructureError(f"the referee asked for {ask!r}")

    def _spawn(self, role: str, work: Work, setting: Setting, descriptors: list[int]) -> Answer:
        if len(self._runners) >= MAX_RUNNERS:
            raise SandboxError("the referee holds too many runners")
        mounts: Sequence[Mount] = self._terms.mounts
        environment = dict(self._terms.environment)
        built = work.built(setting)
        if role != "baseline" and work.view is not None and built is not None:
            libraries, extra = work.view(built)
            mounts, environment = [*mounts, *libraries], environment | dict(extra)
        if role == "counted":
            mounts = [*mounts, *self._terms.profiler_mounts]
        limits = self._terms.baseline if role == "baseline" else self._terms.runner
        process = self._sandbox.fork(self._terms.entries[role], limits, mounts=mounts, environment=environment)
        handle, self._next_handle = self._next_handle, self._next_handle + 1
        self._runners[handle] = (role, process)
        if self._terms.entries.get(role) == ENTRIES["candidate"]:
            artefacts = () if built is None else built.artefacts
            self._samplers[handle] = SamplerHandle.start(_pid(process), artefacts)
        connection = process.socket
        descriptors.append(connection.detach() if isinstance(connection, socket.socket) else int(connection))
        if role in STOPPED_ROLES and (freezer := _freezer(process)) is not None:
            descriptors.append(freezer)
        return {"handle": handle}

    def _sampled(self, sampler: SamplerHandle, windows: Any, calls: Any, work: Work) -> Answer:
        """Whose code the candidate ran in windows of time; what lies in its own stays here, for the profile."""
        if sampler.why:
            return {"available": False, "why": sampler.why}
        work.faults.append((int(calls), sampler.faults()))
        work.attribution = found = sampler.samples_between([(float(start), float(end)) for start, end in windows])
        return {
            "available": True,
            "by_owner": dict(found.by_owner),
            "functions": dict(found.functions),
            "threads": [count for _, count in sorted(found.by_thread.items(), key=lambda item: -item[1])],
        }

    def _end_sampling(self, handle: int) -> None:
        sampler = self._samplers.pop(handle, None)
        if sampler is not None:
            sampler.close()

    def _start_counting(self, process: SandboxProcess, seconds: float) -> Answer:
        works, why = self._profiler.available()
        pid = _pid(process)
        if not works or pid is None:
            return {"available": False, "source": "none", "why": why or "the runner's process id is not known"}
        self._counting = _in_thread(lambda: self._profiler.metrics(pid, seconds))
        return {"available": True}

    def _counters(self) -> Answer:
        counting, self._counting = self._counting, None
        metrics = counting.result(timeout=30.0) if counting is not None else {}
        return {
            "source": "perf",
            "metrics": to_data(metrics),
            "why": "" if metrics else "nothing counted",
        }

    def _end_candidates(self) -> None:
        for handle, (role, process) in list(self._runners.items()):
            if role != "baseline":
                self._end_sampling(handle)
                process.kill()
                del self._runners[handle]


def _key(setting: Setting) -> str:
    return json.dumps(dict(setting), sort_keys=True)


def _setting(body: Answer) -> Setting:
    """The values of `TUNABLES` that the referee named. Raises `ValueError` for anything but plain values."""
    found = body.get("setting") or {}
    if not isinstance(found, dict) or not all(isinstance(value, int | float | str) for value in found.values()):
        raise ValueError("the referee named no setting of plain values")
    return found


def _build(work: Work, setting: Setting) -> Answer:
    """The build's outcome, once there is one."""
    future = work.begin(setting)
    while not future.done():
        if work.cancelled():
            raise CancelledError("cancelled")
        with contextlib.suppress(TimeoutError):
            future.exception(timeout=POLL_S)
    built: BuildResult = future.result()
    return {
        "built": built.ok,
        "messages": built.messages,
        "seconds": built.seconds,
        "libraries": len(built.artefacts),
        "sources": list(built.sources),
        "libraries_read": [to_data(library) for library in built.libraries],
        "reached": [to_data(one) for one in built.reached],
    }


def _in_thread(function: Callable[[], Any]) -> Future[Any]:
    """Run in a thread that does not hold up the end of the program."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001 - carried to whoever asks for the result
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def _described(process: SandboxProcess) -> dict[str, JsonValue]:
    """How a runner whose connection closed has ended; it is killed where it still runs."""
    status = process.wait(EXIT_WAIT_S)
    if status is None:
        process.kill()
        return {"output": ""}
    return {
        "code": status.code,
        "signal": status.signal,
        "timed_out": status.timed_out,
        "out_of_memory": status.out_of_memory,
        "exhaustion": status.exhaustion,
        "output": status.output[-2000:],
    }


def _freezer(process: SandboxProcess) -> int | None:
    """The descriptor that commands its tree; None where the sandbox cannot stop one."""
    take = getattr(process, "take_freezer", None)
    return None if take is None else take()


def _pid(process: SandboxProcess) -> int | None:
    pid = getattr(process, "pid", None)
    return pid if isinstance(pid, int) else None
