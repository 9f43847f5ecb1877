"""What a runner answers.

A candidate's code runs in the runner. So an answer counts only where it is exactly one of these messages, within the
bounds that an honest runner keeps: anything else is refused with a `MessageError`. What is within them is a claim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from services.domain.events import JsonValue
from workers.ipc.messages import Messages
from workers.ipc.tensors import MAX_DIMENSIONS, TensorMeta

MAX_OUTPUTS = 64
MAX_OPERATORS = 1000
MAX_ELEMENTS = 1 << 48
MAX_CLAIM_S = 86400.0
MAX_BATCH_CALL_S = 60.0
MAX_NAME = 200
MAX_TEXT = 4000
MAX_KERNELS = 200
MAX_PROFILE_TEXT = 4 << 20
MAX_RECORD = 4 << 20
"""Bytes of a profiler's record that is passed on: reports with it must fit a message."""
RETURNED: dict[str, JsonValue] = {"returned": True}
"""Says, on the CPU, that the model has returned and that the answer follows."""
ENDED_FORWARD = "forward"
"""Key of the word, on the CPU, that a forward pass has ended and that the cotangents are waited for; its value is the
slot that they belong in. They are in when the referee answers."""


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)


def _check_names(names: tuple[str, ...]) -> None:
    _check(len(names) <= MAX_OUTPUTS, "there are too many names")
    _check(all(len(name) <= MAX_NAME for name in names), "a name is too long")


@dataclass(frozen=True, kw_only=True)
class Acknowledged:
    """It was done."""


@dataclass(frozen=True, kw_only=True)
class ModelLoaded:
    """To `LoadModel` and `ChangeState`."""

    matched: bool
    """Whether its parameters could be matched with the reference's."""
    missing: tuple[str, ...] = ()
    """Where not: those of the reference in whose place it may keep something of another shape."""
    changed: tuple[str, ...] = ()
    """What the module's import and the model's building left otherwise in the process than they found it."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for too many names."""
        _check_names(self.changed)


@dataclass(frozen=True, kw_only=True)
class StateRead:
    """To `ReadState`."""

    names: tuple[str, ...]
    """Of the reference's names, those whose tensors the model has, in the same shape and dtype."""


@dataclass(frozen=True, kw_only=True)
class OutputsKept:
    """To `AskWhatIsKept`."""

    kept: bool
    """Whether the model holds memory that it has returned."""


@dataclass(frozen=True, kw_only=True)
class CalledRepeatedly:
    """To `CallRepeatedly`."""

    own_bytes: int
    """Resident memory that the process shares with nobody; 0 where nothing says that."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for what no process has."""
        _check(0 <= self.own_bytes < MAX_ELEMENTS, "memory has a number of bytes")


@dataclass(frozen=True, kw_only=True)
class OutputClaim:
    """What a runner says of one output."""

    kind: str
    """`tensor`, or the Python type's name."""
    meta: TensorMeta | None = None
    """None where it is no tensor."""
    alias: int | None = None
    """Index of the input it shares memory with."""
    written_out: bool = True
    """Whether every element has a place of its own in memory."""
    strides: tuple[int, ...] | None = None
    """How it lies in the runner's memory; None where it has no strides."""
    shared: str | None = None
    """What it has elements in common with, beside inputs: an earlier output, or the model."""
    mode: str | None = None
    """What it is because of the mode of torch in which it was made, where that was not the caller's."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for what no output is."""
        names = (self.kind, self.shared or "", self.mode or "")
        _check(all(len(name) <= MAX_NAME for name in names), "a name is too long")
        _check((self.kind == "tensor") == (self.meta is not None), "only tensors have shape and dtype")
        _check(self.alias is None or 0 <= self.alias < MAX_ELEMENTS, "an input has an index")
        if self.meta is None:
            _check(self.strides is None, "only tensors have strides")
            return
        shape, strides = self.meta.shape, self.strides
        _check(self.meta.strides is None and self.meta.at is None, "outputs are described as dense")
        _check(len(self.meta.dtype) <= MAX_NAME, "a dtype is a name")
        _check(len(shape) <= MAX_DIMENSIONS and all(0 <= size < MAX_ELEMENTS for size in shape), "a shape is of sizes")
        _check(strides is None or len(strides) == len(shape), "a tensor has a stride for each dimension")
        _check(all(0 <= stride < MAX_ELEMENTS for stride in strides or ()), "a stride is a number of elements")


@dataclass(frozen=True, kw_only=True)
class HandedOver:
    """To `FetchOutputs` and `HandOverHeld`: what a call returned, described."""

    outputs: tuple[OutputClaim, ...]
    structure: Any
    """How the outputs are nested, in the runner's words."""
    written: bool
    """Whether their bytes lie in the slot's memory for outputs."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for too many outputs."""
        _check(len(self.outputs) <= MAX_OUTPUTS, f"a model returns {MAX_OUTPUTS} tensors at most")


@dataclass(frozen=True, kw_only=True)
class ModelCalled:
    """To `CallModel`."""

    seconds: float = 0.0
    """What the runner says the call took."""
    operators: dict[str, int] | None = None
    """PyTorch's operators that were used, with the elements of their largest tensor; None where none were recorded."""
    handed: HandedOver | None = None
    """What it returned; on a GPU it is fetched instead."""
    written_outside: str | None = None
    """Where it wrote past the bounds of what it allocated; looked for where operators are recorded."""
    changed: tuple[str, ...] = ()
    """What it left otherwise in its process than it found it; looked at in the same calls."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for what no call is."""
        _check(0 <= self.seconds <= MAX_CLAIM_S, "a call takes a number of seconds")
        _check(len(self.written_outside or "") <= MAX_TEXT, "the text is too long")
        _check_names(self.changed)
        operators = self.operators or {}
        _check(len(operators) <= MAX_OPERATORS, "there are too many operators")
        _check(all(len(name) <= MAX_NAME for name in operators), "an operator's name is too long")
        _check(all(0 <= size < MAX_ELEMENTS for size in operators.values()), "an operator has a number of elements")


@dataclass(frozen=True, kw_only=True)
class BatchTimed:
    """To `TimeBatch` on a GPU."""

    each: tuple[float, ...]
    """Seconds of each call by the events."""
    late: int = 0
    """Calls that the device began before the host had launched all of them."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for what no call takes."""
        _check(all(0 <= seconds < MAX_BATCH_CALL_S for seconds in self.each), "a call takes a number of seconds")
        _check(0 <= self.late <= len(self.each), "no more calls are late than there are")


@dataclass(frozen=True, kw_only=True)
class BatchCalled:
    """To `TimeBatch` on the CPU."""

    calls: tuple[HandedOver, ...]
    """What each call returned."""


@dataclass(frozen=True, kw_only=True)
class GraphCaptured:
    """To `CaptureGraph`."""

    said: str
    """What CUDA said; nothing where it could record the call."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for a long text."""
        _check(len(self.said) <= MAX_TEXT, "the text is too long")


@dataclass(frozen=True, kw_only=True)
class KernelsTraced:
    """To `TraceKernels`."""

    kernels: tuple[tuple[str, float], ...]
    """Names, and microseconds on the device."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for what no trace is."""
        _check(len(self.kernels) <= MAX_KERNELS, "there are too many kernels")
        _check(all(len(name) <= MAX_NAME for name, _ in self.kernels), "a kernel's name is too long")
        _check(all(0 <= us <= 1e6 * MAX_CLAIM_S for _, us in self.kernels), "a kernel takes a number of microseconds")


@dataclass(frozen=True, kw_only=True)
class CodeDrafted:
    """To `DraftCode`: exactly one of both is set."""

    source: str | None = None
    reason: str | None = None
    """Why there is none."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for both or neither."""
        _check((self.source is None) != (self.reason is None), "there is a draft, or a reason why there is none")


@dataclass(frozen=True, kw_only=True)
class RunnerError:
    """To any request: what was raised."""

    text: str
    line: int | None
    """Of the candidate."""
    memory: bool
    """Whether it is about memory."""
    broken: bool
    """Whether the device's context is lost."""
    changed: tuple[str, ...] = ()
    """What the call that raised left otherwise in its process than the model's building."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for what no error is."""
        _check_names(self.changed)
        _check(len(self.text) <= MAX_TEXT, "the text is too long")
        _check(self.line is None or 0 < self.line < 1 << 31, "a line has a number")


@dataclass(frozen=True, kw_only=True)
class ProfilerOutput:
    """What Nsight Compute wrote; sent at the end, without being asked."""

    counters: str
    """As CSV, or why there are none."""
    lines: str = ""
    """Samples by line of the source, as JSON."""
    record: str | None = None
    """Its own file in Base64; None where it wrote none, empty where that is too large to keep."""
    record_bytes: int = 0

    def __post_init__(self) -> None:
        """Raises `ValueError` for what is too large."""
        _check(max(len(self.counters), len(self.lines)) <= MAX_PROFILE_TEXT, "the profiler's text is too long")
        _check(len(self.record or "") <= 4 * (MAX_RECORD // 3 + 1), "the profiler's record is too large")
        _check(0 <= self.record_bytes < MAX_ELEMENTS, "a record has a number of bytes")


RunnerAnswer = (
    Acknowledged
    | ModelLoaded
    | StateRead
    | OutputsKept
    | CalledRepeatedly
    | HandedOver
    | ModelCalled
    | BatchTimed
    | BatchCalled
    | GraphCaptured
    | KernelsTraced
    | CodeDrafted
    | RunnerError
    | ProfilerOutput
)
ANSWERS: Messages[RunnerAnswer] = Messages(
    "answer",
    {
        "done": Acknowledged,
        "loaded": ModelLoaded,
        "left": StateRead,
        "kept": OutputsKept,
        "repeated": CalledRepeatedly,
        "outputs": HandedOver,
        "called": ModelCalled,
        "timed": BatchTimed,
        "batch": BatchCalled,
        "captured": GraphCaptured,
        "traced": KernelsTraced,
        "drafted": CodeDrafted,
        "error": RunnerError,
        "profile": ProfilerOutput,
    },
)
