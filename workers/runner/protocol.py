"""What a referee asks of a runner; each request carries a token that its answer must repeat. See `answers.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workers.ipc.messages import Messages
from workers.ipc.tensors import TensorMeta
from workers.runner.step import DENSE, StepPlan


class RunnerRequest:
    """What may be asked of a runner."""


@dataclass(frozen=True, kw_only=True)
class RoundTrip(RunnerRequest):
    """Do nothing."""


@dataclass(frozen=True, kw_only=True)
class LoadModel(RunnerRequest):
    """Build the model under the name `plain`; with `step`, its forward and backward."""

    source: str
    init: Any
    """`encode`d arguments; their tensors are in block 0."""
    init_metas: tuple[TensorMeta, ...]
    state_metas: tuple[TensorMeta, ...]
    """Parameters and buffers, which are in block 1."""
    handles: tuple[Any, ...]
    """Of both blocks; see `Shared.handle`."""
    state_names: tuple[str, ...]
    seed: int
    copy_state: bool
    threads: int
    step: StepPlan | None


@dataclass(frozen=True, kw_only=True)
class AttachSlot(RunnerRequest):
    """Attach the memory of one input set: a block the inputs are in, and one for the outputs."""

    slot: int
    arguments: Any
    """`encode`d arguments; their tensors are in block 0."""
    metas: tuple[TensorMeta, ...]
    handles: tuple[Any, ...]
    output_bytes: int
    outputs_of: int | None = None
    """The slot whose memory for outputs it shares; None where block 1 is its own."""


@dataclass(frozen=True, kw_only=True)
class CallModel(RunnerRequest):
    """Run a model once."""

    slot: int
    model: str = "plain"
    hold: bool = False
    """Keep what it returns as a caller would who needs it later."""
    observe: bool = False
    """Record PyTorch's operators."""
    at_once: bool = False
    """On the CPU: copy what it returns before anything is said, not after the word that it has returned."""
    layout: int = DENSE
    """How the tensors that it is given lie in memory; see `workers.runner.step`. All but dense ones are copies."""


@dataclass(frozen=True, kw_only=True)
class ChangeState(RunnerRequest):
    """Give the model's parameters and buffers other values, in place, as a step of training does."""

    state_names: tuple[str, ...]
    state_metas: tuple[TensorMeta, ...]
    """Their values are in block 0."""
    handles: tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class ReadState(RunnerRequest):
    """Hand over the model's parameters and buffers as they are now, under the reference's names."""

    state_names: tuple[str, ...]
    state_metas: tuple[TensorMeta, ...]
    """They go to block 0."""
    handles: tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class AskWhatIsKept(RunnerRequest):
    """On the CPU: run the model once, let go of what it returns, and say whether the memory of that is still there."""

    slot: int


@dataclass(frozen=True, kw_only=True)
class HandOverHeld(RunnerRequest):
    """On the CPU: hand over what an early call returned, as it is now, and let go of it."""

    slot: int


@dataclass(frozen=True, kw_only=True)
class TimeBatch(RunnerRequest):
    """Run a model once for each slot, in turn."""

    slots: tuple[int, ...]
    model: str


@dataclass(frozen=True, kw_only=True)
class CallLate(RunnerRequest):
    """On a GPU: one call whose inputs arrive late, in stream order, and whose other streams are held up."""

    slot: int
    source: int
    """The slot whose inputs are copied in."""
    delay_us: int
    hold: bool


@dataclass(frozen=True, kw_only=True)
class CaptureGraph(RunnerRequest):
    """On a GPU: have CUDA record one call as a graph."""

    slot: int


@dataclass(frozen=True, kw_only=True)
class ForgetSlots(RunnerRequest):
    """Let go of slots."""

    slots: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class DropOutputs(RunnerRequest):
    """Let go of what the last call returned."""


@dataclass(frozen=True, kw_only=True)
class FetchOutputs(RunnerRequest):
    """Hand over what the last call returned, or one call of the last batch."""

    index: int | None


@dataclass(frozen=True, kw_only=True)
class CountKernels(RunnerRequest):
    """Run a call between the marks that Nsight Compute looks for."""

    slot: int


@dataclass(frozen=True, kw_only=True)
class TraceKernels(RunnerRequest):
    """Run a call under torch's profiler."""

    slot: int


@dataclass(frozen=True, kw_only=True)
class QuitRunner(RunnerRequest):
    """End."""


@dataclass(frozen=True, kw_only=True)
class CompileModel(RunnerRequest):
    """To a baseline: compile the model under this name, which says how."""

    model: str


@dataclass(frozen=True, kw_only=True)
class AddIdle(RunnerRequest):
    """To a baseline: add the model `idle`, which returns what `plain` returns for a slot and computes nothing."""

    slot: int


@dataclass(frozen=True, kw_only=True)
class DraftCode(RunnerRequest):
    """To a baseline: write the compiler's own code as a candidate."""

    slots: tuple[int, ...]
    name: str
    way: str
    library: tuple[str, ...]


REQUESTS: Messages[RunnerRequest] = Messages(
    "op",
    {
        "noop": RoundTrip,
        "load": LoadModel,
        "slot": AttachSlot,
        "call": CallModel,
        "state": ChangeState,
        "left": ReadState,
        "kept": AskWhatIsKept,
        "held": HandOverHeld,
        "time": TimeBatch,
        "look": CallLate,
        "capture": CaptureGraph,
        "forget": ForgetSlots,
        "drop": DropOutputs,
        "fetch": FetchOutputs,
        "count": CountKernels,
        "trace": TraceKernels,
        "quit": QuitRunner,
        "compile": CompileModel,
        "idle": AddIdle,
        "draft": DraftCode,
    },
)
RUNNING = (CallModel, AskWhatIsKept, TimeBatch, CallLate)
"""Requests in which the model runs."""
