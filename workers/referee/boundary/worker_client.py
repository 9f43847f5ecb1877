"""What the referee asks of its worker: build, start and stop runners, read accounts. Answers come in order."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from services.domain.tunables import Plain
from services.ports.sandboxes import ExitStatus
from workers.ipc.freezer import Freezer
from workers.ipc.messages import MessageError
from workers.ipc.placement import TensorDevice
from workers.ipc.wire import Channel
from workers.profilers.usage import Activity
from workers.referee.boundary import worker_messages as messages
from workers.referee.boundary.exchange import TimeLimit
from workers.referee.boundary.problem_connection import ProblemConnection
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.errors import FaultKind, RunnerFault, WorkerRefusal

WORKER_LIMIT_S = 600.0
A = TypeVar("A")


@dataclass(frozen=True, kw_only=True)
class SeenTime:
    """Where a candidate's time went."""

    whole_life: messages.TimeShares
    """In all calls since it was loaded."""
    since_timed: messages.TimeShares
    """In calls since the first timed one."""


@dataclass(frozen=True, kw_only=True)
class StartedProcess:
    """A started process and what connects to it."""

    handle: int
    channel: Channel
    freezer: Freezer | None
    """What stops it and lets it run; None where the sandbox cannot."""


class ProblemSpawner:
    """Starts and ends the one process that holds a problem; see `workers.referee.boundary.isolated_problem`."""

    def __init__(self, link: WorkerLink, progress: Callable[[str, int | None], None], most_bytes: int | None) -> None:
        self._link = link
        self._progress = progress
        self._most_bytes = most_bytes
        self._handle: int | None = None

    def connect(self) -> ProblemConnection:
        """Start one."""
        started = self._link.start("problem")
        self._handle = started.handle
        return ProblemConnection(
            started.channel, started.freezer, self._link.place, self._progress, most_bytes=self._most_bytes
        )

    def end(self) -> ExitStatus | None:
        """End it; how it had ended by itself, None where it still ran."""
        handle, self._handle = self._handle, None
        if handle is None:
            return None
        status = self._link.exit_status(handle)
        self._link.end(handle)
        return status


@dataclass(frozen=True, kw_only=True)
class Runner:
    """A started runner process and the session with it."""

    handle: int
    session: RunnerSession


class WorkerLink:
    """The referee's questions to the worker that started it. Raises `WorkerRefusal` when one is not met."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._asking = threading.Lock()
        self.place = TensorDevice()
        """Where runners have their tensors."""
        self.setting: Mapping[str, Plain] | None = None
        """The values of the candidate's `TUNABLES` that builds and runners are asked for; None for it as it stands."""

    def _ask(self, question: messages.Question, expected: type[A]) -> tuple[A, tuple[int, ...]]:
        with self._asking:  # runners may end while several of them are called at once
            self._channel.send(messages.QUESTIONS.encode(question))
            message = self._channel.receive(timeout_s=WORKER_LIMIT_S)
        asked = messages.QUESTIONS.name_of(question)
        try:
            answer = messages.ANSWERS.decode(message.body)
        except MessageError as error:
            message.close()
            raise WorkerRefusal(f"the worker did not answer `{asked}`: {error}") from None
        if isinstance(answer, expected):
            return answer, message.descriptors
        message.close()
        if isinstance(answer, messages.Declined):
            raise WorkerRefusal(answer.error or f"the worker refused `{asked}`")
        raise WorkerRefusal(f"it answered `{messages.ANSWERS.name_of(answer)}`")

    def hold_device(self) -> float:
        """Have the device to ourselves until this request is answered; the seconds that took to get."""
        return self._ask(messages.HoldDevice(), messages.DeviceHeld)[0].waited_s

    def begin_build(self) -> None:
        """Have the candidate under evaluation compiled, in the compile sandbox, while the referee does other things."""
        self._ask(messages.BeginBuild(setting=self._setting()), messages.Done)

    def build(self) -> messages.Build:
        """The build that was begun, or a new one, once it has ended."""
        return self._ask(messages.AwaitBuild(setting=self._setting()), messages.Build)[0]

    def spawn(self, role: str, time_limit: TimeLimit) -> Runner:
        """Start a process of role `candidate` or `baseline` and connect to it directly; it may take so long in all."""
        started = self.start(role)
        session = RunnerSession(
            started.channel,
            lambda: exit_fault(self.exit_status(started.handle)),
            time_limit=time_limit,
            place=self.place,
            freezer=started.freezer,
        )
        session.is_baseline = role == "baseline"
        return Runner(handle=started.handle, session=session)

    def start(self, role: str) -> StartedProcess:
        """Start a process of any role; the connection with it."""
        spawned, descriptors = self._ask(
            messages.SpawnRunner(role=role, setting=self._setting()), messages.RunnerSpawned
        )
        if len(descriptors) not in (1, 2):
            raise WorkerRefusal("the worker sent no connection to the runner")
        return StartedProcess(
            handle=spawned.handle,
            channel=Channel(socket.socket(fileno=descriptors[0])),
            freezer=Freezer(socket.socket(fileno=descriptors[1])) if len(descriptors) == 2 else None,
        )

    def exit_status(self, handle: int) -> ExitStatus | None:
        """How a process ended; one that still runs is killed, and has none."""
        return self._ask(messages.ReadExit(handle=handle), messages.RunnerEnd)[0].status

    def end(self, handle: int) -> bool:
        """End a process with everything it started; whether it had printed more than is kept."""
        return self._ask(messages.KillRunner(handle=handle), messages.RunnerKilled)[0].output_cut

    def kill(self, runner: Runner) -> bool:
        """End a runner with everything it started; whether it had printed more than is kept."""
        output_cut = self.end(runner.handle)
        runner.session.close()
        return output_cut

    def cpu_seconds(self, runner: Runner) -> float | None:
        """Processor seconds the runner's whole process tree has used; None where the worker does not know."""
        return self._ask(messages.ReadProcessorTime(handle=runner.handle), messages.ProcessorTime)[0].seconds

    def activity(self, runner: Runner) -> Activity | None:
        """What the runner's whole process tree has done so far; None where the worker does not know."""
        return self._ask(messages.ReadActivity(handle=runner.handle), messages.ActivitySeen)[0].activity

    def sampling(self, runner: Runner, *, on: bool) -> None:
        """Pause or resume the sampling of a candidate."""
        self._ask(messages.SwitchSampling(handle=runner.handle, on=on), messages.Done)

    def samples(self, runner: Runner, windows: Sequence[tuple[float, float]]) -> messages.TimeShares:
        """Whose code ran inside of windows of time. The worker counts page faults between two such questions."""
        calls = len(runner.session.calls)
        return self._ask(
            messages.ReadSamples(handle=runner.handle, windows=tuple(windows), calls=calls), messages.TimeShares
        )[0]

    def profile(self, runner: Runner, keep_busy: Callable[[], None], seconds: float) -> messages.Counters:
        """Hardware counters while `keep_busy` runs, or why there are none."""
        started, _ = self._ask(messages.StartCounting(handle=runner.handle, seconds=seconds), messages.CountingStarted)
        if not started.available:
            return messages.Counters(source="none", metrics={}, why=started.why)
        keep_busy()
        return self._ask(messages.ReadCounters(handle=runner.handle), messages.Counters)[0]

    def _setting(self) -> dict[str, Plain] | None:
        return None if self.setting is None else dict(self.setting)


def exit_fault(status: ExitStatus | None) -> RunnerFault | WorkerRefusal:
    """Why a runner's connection closed, from how its process ended; `status` is None where it still ran. The sandbox's
    wall limit is not caused by a candidate: each request to it has a limit of its own."""
    output = "" if status is None else status.output.strip()[-600:]
    tail = f"; its last output: {output}" if output else ""
    if status is not None:
        if status.out_of_memory:
            return RunnerFault(FaultKind.MEMORY, f"the candidate's process ran out of memory{tail}")
        if status.exhaustion is not None:
            return RunnerFault(FaultKind.CRASHED, f"the candidate's process {status.exhaustion}{tail}")
        if status.timed_out:
            return WorkerRefusal(f"the candidate's process was stopped at its sandbox's wall limit{tail}")
        if status.signal is not None:
            name = _signal_name(status.signal)
            return RunnerFault(FaultKind.CRASHED, f"the candidate's process was ended by {name}{tail}")
        if status.code is not None:
            return RunnerFault(FaultKind.CRASHED, f"the candidate ended its process with exit code {status.code}{tail}")
    return RunnerFault(FaultKind.FORGED, f"the candidate closed the referee's connection{tail}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
