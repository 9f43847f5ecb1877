"""What a runner answers. `data` is the runner's side; `parse` is the referee's.

A candidate's code runs in the runner. So answers are read by what was asked, and what does not fit is refused with a
`MessageError` or, where it is a claim that nothing rests on, left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from services.domain.events import JsonValue
from workers.ipc.messages import MessageError
from workers.ipc.tensors import DataError, TensorMeta

MAX_OUTPUTS = 64
MAX_OPERATORS = 1000
MAX_ELEMENTS = 1 << 48
MAX_CLAIM_S = 86400.0
MAX_BATCH_CALL_S = 60.0
MAX_TEXT = 4000
RETURNED: dict[str, JsonValue] = {"returned": True}
"""Says, on the CPU, that the model has returned and that the answer follows."""
ENDED_FORWARD = "forward"
"""Key of the word, on the CPU, that a forward pass has ended and that the cotangents are waited for; its value is the
slot that they belong in. They are in when the referee answers."""
Body = Mapping[str, Any]


class RunnerAnswer(Protocol):
    """One answer."""

    def data(self) -> dict[str, Any]:
        """As JSON data."""

    @classmethod
    def parse(cls, body: Body) -> Self:
        """The answer in a received object. Raises `MessageError`."""


@dataclass(frozen=True, kw_only=True)
class Acknowledged:
    """It was done."""

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        return {}

    @classmethod
    def parse(cls, body: Body) -> Self:  # noqa: ARG003 - nothing is said
        """The answer in a received object."""
        return cls()


@dataclass(frozen=True, kw_only=True)
class ModelLoaded:
    """To `LoadModel`."""

    matched: bool
    """Whether its parameters could be matched with the reference's."""

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        return {"matched": self.matched}

    @classmethod
    def parse(cls, body: Body) -> Self:
        """The answer in a received object."""
        return cls(matched=body.get("matched") is True)


@dataclass(frozen=True, kw_only=True)
class StateRead:
    """To `ReadState`."""

    names: tuple[str, ...]
    """Of the reference's names, those whose tensors the model has, in the same shape and dtype."""

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        return {"names": list(self.names)}

    @classmethod
    def parse(cls, body: Body) -> Self:
        """The answer in a received object. Raises `MessageError`."""
        names = body.get("names")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise MessageError("the state that was read is not named")
        return cls(names=tuple(names))


@dataclass(frozen=True, kw_only=True)
class OutputsKept:
    """To `AskWhatIsKept`."""

    kept: bool
    """Whether the model holds memory that it has returned."""

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        return {"kept": self.kept}

    @classmethod
    def parse(cls, body: Body) -> Self:
        """The answer in a received object."""
        return cls(kept=body.get("kept") is True)


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

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        if self.meta is None:
            return {"type": self.kind, "shared": self.shared}
        return {
            "type": self.kind,
            **self.meta.data(),
            "alias": self.alias,
            "written_out": self.written_out,
            "strides": None if self.strides is None else list(self.strides),
            "shared": self.shared,
        }

    @classmethod
    def parse(cls, item: Any) -> Self:
        """The description of one output. Strides that are none become 0, which no dense output has."""
        if not isinstance(item, dict) or not isinstance(item.get("type"), str):
            raise MessageError("an output is not described")
        if item["type"] != "tensor":
            return cls(kind=item["type"][:200])
        try:
            meta = TensorMeta.parse(item)
        except DataError as error:
            raise MessageError(f"an output is described wrongly: {error}") from None
        alias, shared = item.get("alias"), item.get("shared")
        return cls(
            kind="tensor",
            meta=meta,
            alias=alias if type(alias) is int else None,
            written_out=item.get("written_out") is not False,
            strides=_strides(item.get("strides"), len(meta.shape)),
            shared=shared[:100] if isinstance(shared, str) else None,
        )


@dataclass(frozen=True, kw_only=True)
class HandedOver:
    """To `FetchOutputs` and `HandOverHeld`: what a call returned, described."""

    outputs: tuple[OutputClaim, ...]
    structure: Any
    """How the outputs are nested, in the runner's words."""
    written: bool
    """Whether their bytes lie in the slot's memory for outputs."""

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        described = [output.data() for output in self.outputs]
        return {"outputs": described, "structure": self.structure, "written": self.written}

    @classmethod
    def parse(cls, body: Any) -> Self:
        """The description in a received object. Raises `MessageError`."""
        described = body.get("outputs") if isinstance(body, Mapping) else None
        if not isinstance(described, list) or len(described) > MAX_OUTPUTS:
            raise MessageError("outputs are not described by a list")
        return cls(
            outputs=tuple(OutputClaim.parse(item) for item in described),
            structure=body.get("structure"),
            written=body.get("written") is True,
        )


@dataclass(frozen=True, kw_only=True)
class ModelCalled:
    """To `CallModel`."""

    seconds: float = 0.0
    """What the runner says the call took."""
    operators: Mapping[str, int] | None = None
    """PyTorch's operators that were used, with the elements of their largest tensor; None where none were recorded."""
    handed: HandedOver | None = None
    """What it returned; on a GPU it is fetched instead."""

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        seen = {} if self.operators is None else {"operators": dict(self.operators)}
        handed = {} if self.handed is None else self.handed.data()
        return {"seconds": self.seconds, **seen, **handed}

    @classmethod
    def parse(cls, body: Body) -> Self:
        """The answer in a received object. A duration that is none becomes 0, operators that are none None."""
        operators = body.get("operators")
        return cls(
            seconds=_claim(body.get("seconds")),
            operators=_sizes(operators) if isinstance(operators, dict) else None,
            handed=HandedOver.parse(body) if "outputs" in body else None,
        )


@dataclass(frozen=True, kw_only=True)
class BatchTimed:
    """To `TimeBatch` on a GPU."""

    each: tuple[float, ...]
    """Seconds of each call by the events."""

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        return {"each": list(self.each)}

    @classmethod
    def parse(cls, body: Body) -> Self:
        """The answer in a received object. Raises `MessageError`."""
        each = body.get("each")
        if not isinstance(each, list) or not all(is_duration(value) for value in each):
            raise MessageError("a batch's times are not described")
        return cls(each=tuple(map(float, each)))


@dataclass(frozen=True, kw_only=True)
class BatchCalled:
    """To `TimeBatch` on the CPU."""

    calls: tuple[HandedOver, ...]
    """What each call returned."""

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        return {"calls": [call.data() for call in self.calls]}

    @classmethod
    def parse(cls, body: Body) -> Self:
        """The answer in a received object. Raises `MessageError`."""
        calls = body.get("calls")
        if not isinstance(calls, list):
            raise MessageError("the calls of a batch are not described")
        return cls(calls=tuple(HandedOver.parse(call) for call in calls))


@dataclass(frozen=True, kw_only=True)
class GraphCaptured:
    """To `CaptureGraph`."""

    said: str
    """What CUDA said; nothing where it could record the call."""

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        return {"said": self.said}

    @classmethod
    def parse(cls, body: Body) -> Self:
        """The answer in a received object."""
        return cls(said=str(body.get("said") or ""))


@dataclass(frozen=True, kw_only=True)
class KernelsTraced:
    """To `TraceKernels`."""

    kernels: tuple[tuple[str, float], ...]
    """Names, and microseconds on the device."""

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        return {"kernels": [list(kernel) for kernel in self.kernels]}

    @classmethod
    def parse(cls, body: Body) -> Self:
        """The answer in a received object; rows that are none are left out."""
        rows = body.get("kernels")
        found = [row for row in rows if isinstance(row, list) and len(row) == 2] if isinstance(rows, list) else []
        return cls(kernels=tuple((str(row[0]), _claim(row[1])) for row in found if isinstance(row[1], int | float)))


@dataclass(frozen=True, kw_only=True)
class CodeDrafted:
    """To `DraftCode`: exactly one of both is set."""

    source: str | None = None
    reason: str | None = None
    """Why there is none."""

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        return {"source": self.source, "reason": self.reason}

    @classmethod
    def parse(cls, body: Body) -> Self:
        """The answer in a received object. Raises `MessageError`."""
        source, reason = body.get("source"), body.get("reason")
        if not isinstance(source, str | None) or not isinstance(reason, str | None):
            raise MessageError("a draft is not described")
        return cls(source=source, reason=reason)


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

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        described = {"text": self.text, "line": self.line, "memory": self.memory, "broken": self.broken}
        return {"error": described}

    @classmethod
    def parse(cls, body: Body) -> Self:
        """The answer in a received object. Raises `MessageError`."""
        error = body["error"]
        if not isinstance(error, dict):
            raise MessageError("an error is not described")
        line = error.get("line")
        return cls(
            text=str(error.get("text"))[:MAX_TEXT],
            line=line if type(line) is int and 0 < line < 1 << 31 else None,
            memory=error.get("memory") is True,
            broken=error.get("broken") is True,
        )


def is_duration(value: object) -> bool:
    """Whether a claim is a number of seconds that a call may take."""
    return isinstance(value, float | int) and not isinstance(value, bool) and 0 <= value < MAX_BATCH_CALL_S


def _claim(value: Any) -> float:
    """A claimed duration as a number that later sums can bear; 0 for anything else."""
    if type(value) not in (int, float) or not 0 <= value <= MAX_CLAIM_S:
        return 0.0
    return float(value)


def _sizes(operators: Mapping[str, Any]) -> dict[str, int]:
    seen = itertools.islice(operators.items(), MAX_OPERATORS)
    return {name[:100]: size for name, size in seen if type(size) is int and 0 <= size < MAX_ELEMENTS}


def _strides(described: Any, dimensions: int) -> tuple[int, ...]:
    """Strides as numbers; 0 for what is none, which no dense output has."""
    if not isinstance(described, list) or len(described) != dimensions:
        return (0,) * dimensions
    return tuple(one if type(one) is int and 0 <= one < MAX_ELEMENTS else 0 for one in described)


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

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        said: dict[str, Any] = {"counters": self.counters, "lines": self.lines}
        return said if self.record is None else {**said, "record": self.record, "record_bytes": self.record_bytes}

    @classmethod
    def parse(cls, body: Body) -> Self:
        """The answer in a received object; what does not fit is left out, for nothing rests on it."""
        said = cls(counters=str(body.get("counters")), lines=str(body.get("lines", "")))
        record, size = body.get("record"), body.get("record_bytes")
        if isinstance(record, str) and isinstance(size, int) and size >= 0:
            return replace(said, record=record, record_bytes=size)
        return said
