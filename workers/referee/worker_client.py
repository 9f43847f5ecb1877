"""What the referee asks of its worker: build, start and stop runners, read accounts. Answers come in order."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from services.domain.codec import from_data
from services.domain.tunables import Plain
from services.ports.devices import BuiltLibrary, ReachedName
from workers.ipc.freezer import Freezer
from workers.ipc.placement import TensorDevice
from workers.ipc.wire import Channel
from workers.referee.errors import FaultKind, RunnerFault, WorkerRefusal
from workers.referee.runner_client import RunnerSession

WORKER_LIMIT_S = 600.0


@dataclass(frozen=True, kw_only=True)
class Build:
    """What the compile sandbox said."""

    ok: bool
    messages: str
    seconds: float
    libraries: int = 1
    sources: tuple[str, ...] = ()
    """What was compiled."""
    built: tuple[BuiltLibrary, ...] = ()
    """What came of it."""
    reached: tuple[ReachedName, ...] = ()
    """What the names in the module lead to."""


@dataclass(frozen=True, kw_only=True)
class Activity:
    """What a process tree has done, and is doing."""

    cpu_s: float
    """Processor seconds of all its threads."""
    turns: int
    """How often one of them was given a processor."""
    running: int
    """Threads that run or wait for a processor at this moment."""


@dataclass(frozen=True, kw_only=True)
class TimeShares:
    """Where a candidate's time went, by samples taken from outside."""

    by_owner: Mapping[str, int]
    """Samples by whose code they lie in; the words are `workers.sampler.attribution.Owner`'s."""
    functions: Mapping[str, int]
    """Of libraries: the functions that most samples lie in."""
    threads: tuple[int, ...]
    """Samples of each thread at work, most first."""
    why: str = ""
    """Why nothing could be sampled; empty where it could."""


@dataclass(frozen=True, kw_only=True)
class SeenTime:
    """Where a candidate's time went."""

    whole_life: TimeShares
    """In all calls since it was loaded."""
    since_timed: TimeShares
    """In calls since the first timed one."""


@dataclass(frozen=True, kw_only=True)
class Runner:
    """A started runner process and the session with it."""

    handle: int
    session: RunnerSession


class WorkerLink:
    """The referee's requests to the worker that started it. Raises `WorkerRefusal` when one is not met."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.place = TensorDevice()
        """Where runners have their tensors."""
        self.setting: Mapping[str, Plain] | None = None
        """The values of the candidate's `TUNABLES` that builds and runners are asked for; None for it as it stands."""

    def _ask(self, body: dict[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
        self._channel.send(body)
        answer = self._channel.receive(timeout_s=WORKER_LIMIT_S)
        if answer.body.get("ok") is not True:
            answer.close()
            raise WorkerRefusal(str(answer.body.get("error") or f"the worker refused `{body.get('ask')}`"))
        return dict(answer.body), answer.descriptors

    def hold_device(self) -> float:
        """Have the device to ourselves until this request is answered; the seconds that took to get."""
        return float(self._ask({"ask": "hold"})[0].get("waited_s") or 0.0)

    def begin_build(self) -> None:
        """Have the candidate under evaluation compiled, in the compile sandbox, while the referee does other things."""
        self._ask({"ask": "begin_build", "setting": self._setting()})

    def build(self) -> Build:
        """The build that was begun, or a new one, once it has ended."""
        body, _ = self._ask({"ask": "build", "setting": self._setting()})
        return Build(
            ok=body["built"] is True,
            messages=str(body["messages"]),
            seconds=float(body["seconds"]),
            libraries=int(body.get("libraries", 1)),
            sources=tuple(str(text) for text in body.get("sources", ())),
            built=tuple(from_data(BuiltLibrary, one) for one in body.get("libraries_read", ())),
            reached=tuple(from_data(ReachedName, one) for one in body.get("reached", ())),
        )

    def spawn(self, role: str, *, deadline: float) -> Runner:
        """Start a process of role `candidate` or `baseline` and connect to it directly."""
        body, descriptors = self._ask({"ask": "spawn", "role": role, "setting": self._setting()})
        if len(descriptors) not in (1, 2):
            raise WorkerRefusal("the worker sent no connection to the runner")
        handle = int(body["handle"])
        channel = Channel(socket.socket(fileno=descriptors[0]))
        freezer = Freezer(socket.socket(fileno=descriptors[1])) if len(descriptors) == 2 else None
        session = RunnerSession(
            channel, self._exit_reader(handle), deadline=deadline, place=self.place, freezer=freezer
        )
        return Runner(handle=handle, session=session)

    def kill(self, runner: Runner) -> bool:
        """End a runner with everything it started; whether it had printed more than is kept."""
        body, _ = self._ask({"ask": "kill", "handle": runner.handle})
        runner.session.close()
        return body.get("output_cut") is True

    def cpu_seconds(self, runner: Runner) -> float | None:
        """Processor seconds the runner's whole process tree has used; None where the worker cannot tell."""
        value = self._ask({"ask": "cpu", "handle": runner.handle})[0].get("seconds")
        return float(value) if isinstance(value, int | float) else None

    def activity(self, runner: Runner) -> Activity | None:
        """What the runner's whole process tree has done so far; None where the worker cannot tell."""
        body = self._ask({"ask": "activity", "handle": runner.handle})[0]
        if body.get("cpu_s") is None:
            return None
        return Activity(cpu_s=float(body["cpu_s"]), turns=int(body["turns"]), running=int(body["running"]))

    def sampling(self, runner: Runner, *, on: bool) -> None:
        """Pause the sampling of a candidate, or go on."""
        self._ask({"ask": "sampling", "handle": runner.handle, "on": on})

    def samples(self, runner: Runner, windows: Sequence[tuple[float, float]]) -> TimeShares:
        """Whose code ran inside of windows of time. The worker counts page faults between two such questions."""
        pairs = [list(pair) for pair in windows]
        asked = {"ask": "samples", "handle": runner.handle, "windows": pairs, "calls": len(runner.session.calls)}
        body, _ = self._ask(asked)
        if body.get("available") is not True:
            return TimeShares(by_owner={}, functions={}, threads=(), why=str(body.get("why")))
        return TimeShares(
            by_owner={str(name): int(count) for name, count in body["by_owner"].items()},
            functions={str(name): int(count) for name, count in body["functions"].items()},
            threads=tuple(int(count) for count in body["threads"]),
        )

    def profile(
        self, runner: Runner, keep_busy: Callable[[], None], seconds: float
    ) -> tuple[str, dict[str, float], str]:
        """Hardware counters while `keep_busy` runs: the source's name, the counters, and why there are none."""
        body, _ = self._ask({"ask": "profile", "handle": runner.handle, "seconds": seconds})
        if body.get("available") is not True:
            return str(body["source"]), {}, str(body["why"])
        keep_busy()
        body, _ = self._ask({"ask": "counters", "handle": runner.handle})
        return str(body["source"]), {str(key): float(value) for key, value in body["metrics"].items()}, str(body["why"])

    def _setting(self) -> dict[str, Any] | None:
        return None if self.setting is None else dict(self.setting)

    def _exit_reader(self, handle: int) -> Callable[[], RunnerFault]:
        def read() -> RunnerFault:
            return exit_fault(self._ask({"ask": "exit", "handle": handle})[0])

        return read


def exit_fault(status: dict[str, Any]) -> RunnerFault:
    """Why a runner's connection closed, from how its process ended."""
    output = str(status.get("output") or "").strip()[-600:]
    tail = f"; its last output: {output}" if output else ""
    if status.get("out_of_memory") is True:
        return RunnerFault(FaultKind.MEMORY, f"the candidate's process ran out of memory{tail}")
    if isinstance(status.get("exhaustion"), str):
        return RunnerFault(FaultKind.CRASHED, f"the candidate's process {status['exhaustion']}{tail}")
    if status.get("timed_out") is True:
        return RunnerFault(FaultKind.HUNG, f"the candidate's process was stopped at its wall limit{tail}")
    number = status.get("signal")
    if isinstance(number, int):
        return RunnerFault(FaultKind.CRASHED, f"the candidate's process was ended by {_signal_name(number)}{tail}")
    code = status.get("code")
    if isinstance(code, int):
        return RunnerFault(FaultKind.CRASHED, f"the candidate ended its process with exit code {code}{tail}")
    return RunnerFault(FaultKind.FORGED, f"the candidate closed the referee's connection{tail}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
