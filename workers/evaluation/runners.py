"""The runners that a referee asked its worker for: started, watched from outside, and ended."""

from __future__ import annotations

import dataclasses
import socket
from collections.abc import Sequence
from concurrent.futures import Future

from services.domain.errors import InfrastructureError, SandboxError
from services.ports.devices import BuildResult
from services.ports.sandboxes import ExitStatus, Mount, Sandbox, SandboxProcess
from workers.evaluation.terms import ENTRIES, Terms
from workers.evaluation.work import Work, in_thread
from workers.profilers.perf_counters import PerfProfiler
from workers.profilers.usage import activity, cpu_seconds
from workers.referee.boundary import worker_messages as messages
from workers.sampler.handle import SamplerHandle

MAX_RUNNERS = 15
"""Of one referee: its problem, its baselines, the finalists of a search over settings, and those started together."""
KEPT_ROLES = ("baseline", "problem")
"""Processes that outlive a conversation: they hold the problem, and no candidate."""
STOPPED_ROLES = ("candidate", *KEPT_ROLES)
"""Processes that run only while they are asked; those below a profiler belong to it."""
EXIT_WAIT_S = 2.0
MAX_COUNTING_S = 2.0
KEPT_OUTPUT = 2000
"""Characters of what a runner wrote last."""


class RunnerProcesses:
    """The runners of one referee, by the handles it knows them by."""

    def __init__(self, sandbox: Sandbox, terms: Terms, profiler: PerfProfiler) -> None:
        self._sandbox = sandbox
        self._terms = terms
        self._profiler = profiler
        self._processes: dict[int, tuple[str, SandboxProcess]] = {}
        self._next_handle = 1
        self._counting: Future[dict[str, float]] | None = None
        self._samplers: dict[int, SamplerHandle] = {}
        """Of candidates on the CPU."""

    def spawn(self, question: messages.SpawnRunner, work: Work, descriptors: list[int]) -> messages.RunnerSpawned:
        """Start one; its connection, and its freezer's, are appended to `descriptors`, which the caller closes."""
        if len(self._processes) >= MAX_RUNNERS:
            raise SandboxError("the referee holds too many runners")
        role, setting = question.role, question.setting or {}
        built = work.built(setting)
        process = self._fork(role, work, built)
        handle, self._next_handle = self._next_handle, self._next_handle + 1
        self._processes[handle] = (role, process)
        if self._terms.entries.get(role) == ENTRIES["candidate"]:
            artefacts = () if built is None else built.artefacts
            self._samplers[handle] = SamplerHandle.start(_pid(process), artefacts)
        connection = process.socket
        descriptors.append(connection.detach() if isinstance(connection, socket.socket) else int(connection))
        if role in STOPPED_ROLES and (freezer := _freezer(process)) is not None:
            descriptors.append(freezer)
        return messages.RunnerSpawned(handle=handle)

    def answer(self, question: messages.RunnerQuestion, work: Work) -> messages.WorkerAnswer:
        """What a referee wants of one runner. Raises `InfrastructureError` for one that is not there."""
        handle = question.handle
        if handle not in self._processes:
            raise InfrastructureError(f"there is no runner {handle}")
        process = self._processes[handle][1]
        match question:
            case messages.KillRunner():
                return self._kill(handle)
            case messages.ReadExit():
                return messages.RunnerEnd(status=_ended(process))
            case messages.ReadProcessorTime():
                pid = _pid(process)
                return messages.ProcessorTime(seconds=None if pid is None else cpu_seconds(pid))
            case messages.ReadActivity():
                pid = _pid(process)
                return messages.ActivitySeen(activity=None if pid is None else activity(pid))
            case messages.SwitchSampling():
                self._sampler(handle).switch(on=question.on)
                return messages.Done()
            case messages.ReadSamples():
                return _sampled(self._sampler(handle), question, work)
            case messages.StartCounting():
                return self._start_counting(process, min(question.seconds, MAX_COUNTING_S))
            case messages.ReadCounters():
                return self._counters()

    def drain(self) -> None:
        """Take what has been sampled so far, before its buffers are full."""
        for sampler in self._samplers.values():
            sampler.drain()

    def end_candidates(self) -> None:
        """End all but those that outlive a conversation."""
        for handle, (role, _process) in list(self._processes.items()):
            if role not in KEPT_ROLES:
                self._end(handle)

    def close(self) -> None:
        """End all."""
        for handle in list(self._processes):
            self._end(handle)

    def _fork(self, role: str, work: Work, built: BuildResult | None) -> SandboxProcess:
        mounts: Sequence[Mount] = self._terms.mounts
        environment = dict(self._terms.environment)
        if role not in self._terms.entries:
            raise InfrastructureError(f"the referee asked for a runner of role {role[:40]!r}")
        if role not in KEPT_ROLES and work.view is not None and built is not None:
            libraries, extra = work.view(built)
            mounts, environment = [*mounts, *libraries], environment | dict(extra)
        if role == "counted":
            mounts = [*mounts, *self._terms.profiler_mounts]
        limits = {"baseline": self._terms.baseline, "problem": self._terms.referee}.get(role, self._terms.runner)
        return self._sandbox.fork(self._terms.entries[role], limits, mounts=mounts, environment=environment)

    def _kill(self, handle: int) -> messages.RunnerKilled:
        status = self._end(handle).wait(EXIT_WAIT_S)
        return messages.RunnerKilled(output_cut=status is not None and status.output_cut)

    def _end(self, handle: int) -> SandboxProcess:
        sampler = self._samplers.pop(handle, None)
        if sampler is not None:
            sampler.close()
        _role, process = self._processes[handle]
        process.kill()
        del self._processes[handle]
        return process

    def _sampler(self, handle: int) -> SamplerHandle:
        if handle not in self._samplers:
            raise InfrastructureError(f"runner {handle} is not sampled")
        return self._samplers[handle]

    def _start_counting(self, process: SandboxProcess, seconds: float) -> messages.CountingStarted:
        works, why = self._profiler.available()
        pid = _pid(process)
        if not works or pid is None:
            return messages.CountingStarted(available=False, why=why or "the runner's process id is not known")
        self._counting = in_thread(lambda: self._profiler.metrics(pid, seconds))
        return messages.CountingStarted(available=True)

    def _counters(self) -> messages.Counters:
        counting, self._counting = self._counting, None
        metrics = counting.result(timeout=30.0) if counting is not None else {}
        return messages.Counters(source="perf", metrics=metrics, why="" if metrics else "nothing counted")


def _sampled(sampler: SamplerHandle, question: messages.ReadSamples, work: Work) -> messages.TimeShares:
    """Whose code the candidate ran in windows of time; what lies in its own stays here, for the profile."""
    if sampler.why:
        return messages.TimeShares(by_owner={}, functions={}, threads=(), why=sampler.why)
    work.faults.append((question.calls, sampler.faults()))
    work.attribution = found = sampler.samples_between(question.windows)
    return messages.TimeShares(
        by_owner=dict(found.by_owner),
        functions=dict(found.functions),
        threads=tuple(sorted(found.by_thread.values(), reverse=True)),
    )


def _ended(process: SandboxProcess) -> ExitStatus | None:
    """How a runner whose connection closed has ended; it is killed where it still runs."""
    status = process.wait(EXIT_WAIT_S)
    if status is None:
        process.kill()
        return None
    return dataclasses.replace(status, output=status.output[-KEPT_OUTPUT:])


def _freezer(process: SandboxProcess) -> int | None:
    """The descriptor that commands its tree; None where the sandbox cannot stop one."""
    take = getattr(process, "take_freezer", None)
    return None if take is None else take()


def _pid(process: SandboxProcess) -> int | None:
    pid = getattr(process, "pid", None)
    return pid if isinstance(pid, int) else None
