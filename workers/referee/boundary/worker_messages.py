"""What a referee asks of its worker while it works on a request, and the answers, which come in order.

The worker trusts no question, although no problem's code runs in the referee's process.
"""

from __future__ import annotations

from dataclasses import dataclass

from services.domain.tunables import Plain
from services.ports.devices import BuiltLibrary, ReachedName
from services.ports.sandboxes import ExitStatus
from workers.ipc.messages import Messages
from workers.profilers.usage import Activity


@dataclass(frozen=True, kw_only=True)
class StepBegun:
    """A note, which is not answered: which of the problem's parts runs now."""

    what: str
    line: int | None
    """Of the problem's file."""


@dataclass(frozen=True, kw_only=True)
class HoldDevice:
    """Have the device to ourselves until the reply."""


@dataclass(frozen=True, kw_only=True)
class BeginBuild:
    """Begin to compile the candidate; None builds it as it stands."""

    setting: dict[str, Plain] | None = None


@dataclass(frozen=True, kw_only=True)
class AwaitBuild:
    """The outcome of the build that was begun, or of a new one."""

    setting: dict[str, Plain] | None = None


@dataclass(frozen=True, kw_only=True)
class SpawnRunner:
    """Start a process; its connection comes with the answer, and behind it the freezer's where there is one."""

    role: str
    """`candidate`, `baseline`, `problem`, `counted` or `traced`."""
    setting: dict[str, Plain] | None = None


@dataclass(frozen=True, kw_only=True)
class KillRunner:
    """End a runner with everything it started."""

    handle: int


@dataclass(frozen=True, kw_only=True)
class ReadExit:
    """How a runner ended; one that still runs is killed."""

    handle: int


@dataclass(frozen=True, kw_only=True)
class ReadProcessorTime:
    """What a runner's process tree has used."""

    handle: int


@dataclass(frozen=True, kw_only=True)
class ReadActivity:
    """What a runner's process tree has done."""

    handle: int


@dataclass(frozen=True, kw_only=True)
class SwitchSampling:
    """Pause or resume the sampling of a candidate."""

    handle: int
    on: bool


@dataclass(frozen=True, kw_only=True)
class ReadSamples:
    """Whose code a candidate ran inside of windows of time."""

    handle: int
    windows: tuple[tuple[float, float], ...]
    """Seconds on the monotonic clock."""
    calls: int
    """How often the model has run so far."""


@dataclass(frozen=True, kw_only=True)
class StartCounting:
    """Read a runner's hardware counters for some seconds, from now."""

    handle: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class ReadCounters:
    """What was counted."""

    handle: int


RunnerQuestion = (
    KillRunner
    | ReadExit
    | ReadProcessorTime
    | ReadActivity
    | SwitchSampling
    | ReadSamples
    | StartCounting
    | ReadCounters
)
Asked = HoldDevice | BeginBuild | AwaitBuild | SpawnRunner | RunnerQuestion
"""What is answered."""
Question = StepBegun | Asked
QUESTIONS: Messages[Question] = Messages(
    "ask",
    {
        "progress": StepBegun,
        "hold": HoldDevice,
        "begin_build": BeginBuild,
        "build": AwaitBuild,
        "spawn": SpawnRunner,
        "kill": KillRunner,
        "exit": ReadExit,
        "cpu": ReadProcessorTime,
        "activity": ReadActivity,
        "sampling": SwitchSampling,
        "samples": ReadSamples,
        "profile": StartCounting,
        "counters": ReadCounters,
    },
)


class WorkerAnswer:
    """What a worker may answer."""


@dataclass(frozen=True, kw_only=True)
class Done(WorkerAnswer):
    """Answer to a question that asks for an act only."""


@dataclass(frozen=True, kw_only=True)
class Declined(WorkerAnswer):
    """Answer to any question: it was not met."""

    error: str


@dataclass(frozen=True, kw_only=True)
class DeviceHeld(WorkerAnswer):
    """Answer to `HoldDevice`."""

    waited_s: float


@dataclass(frozen=True, kw_only=True)
class Build(WorkerAnswer):
    """Answer to `AwaitBuild`: what the compile sandbox said."""

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
class RunnerSpawned(WorkerAnswer):
    """Answer to `SpawnRunner`."""

    handle: int


@dataclass(frozen=True, kw_only=True)
class RunnerKilled(WorkerAnswer):
    """Answer to `KillRunner`."""

    output_cut: bool
    """Whether it had printed more than is kept."""


@dataclass(frozen=True, kw_only=True)
class RunnerEnd(WorkerAnswer):
    """Answer to `ReadExit`."""

    status: ExitStatus | None
    """None where it still ran."""


@dataclass(frozen=True, kw_only=True)
class ProcessorTime(WorkerAnswer):
    """Answer to `ReadProcessorTime`."""

    seconds: float | None
    """None where the worker does not know."""


@dataclass(frozen=True, kw_only=True)
class ActivitySeen(WorkerAnswer):
    """Answer to `ReadActivity`."""

    activity: Activity | None
    """None where the worker does not know."""


@dataclass(frozen=True, kw_only=True)
class TimeShares(WorkerAnswer):
    """Answer to `ReadSamples`: where a candidate's time went, by samples taken from outside."""

    by_owner: dict[str, int]
    """Samples by whose code they lie in; the words are `workers.sampler.attribution.Owner`'s."""
    functions: dict[str, int]
    """Of libraries: the functions that most samples lie in."""
    threads: tuple[int, ...]
    """Samples of each thread at work, most first."""
    why: str = ""
    """Why nothing could be sampled; empty where it could."""


@dataclass(frozen=True, kw_only=True)
class CountingStarted(WorkerAnswer):
    """Answer to `StartCounting`."""

    available: bool
    why: str = ""
    """Why nothing can be counted."""


@dataclass(frozen=True, kw_only=True)
class Counters(WorkerAnswer):
    """Answer to `ReadCounters`."""

    source: str
    metrics: dict[str, float]
    why: str
    """Why there are none; empty where there are some."""


ANSWERS: Messages[WorkerAnswer] = Messages(
    "answer",
    {
        "done": Done,
        "declined": Declined,
        "held": DeviceHeld,
        "build": Build,
        "spawned": RunnerSpawned,
        "killed": RunnerKilled,
        "exit": RunnerEnd,
        "cpu": ProcessorTime,
        "activity": ActivitySeen,
        "samples": TimeShares,
        "counting": CountingStarted,
        "counters": Counters,
    },
)
