"""What a referee asks of a runner; each request carries a token that its answer must repeat. See `answers.py`."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from workers.ipc.messages import Messages
from workers.ipc.tensors import TensorMeta
from workers.runner.step import DENSE, GraphUse, StepPlan


@dataclass(frozen=True, kw_only=True)
class RunnerRequest:
    """What may be asked of a runner."""


@dataclass(frozen=True, kw_only=True)
class OfSlot(RunnerRequest):
    """What is about one slot."""

    slot: int


@dataclass(frozen=True, kw_only=True)
class OfSlots(RunnerRequest):
    """What is about several slots."""

    slots: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class OfState(RunnerRequest):
    """What is about the model's parameters and buffers."""

    state_names: tuple[str, ...]
    """The reference's."""
    state_metas: tuple[TensorMeta, ...]
    """Their values are in block 0, but for `LoadModel` in block 1."""
    handles: tuple[Any, ...]
    """Of all blocks; see `Shared.handle`."""


class RoundTrip(RunnerRequest):
    """Do nothing."""


@dataclass(frozen=True, kw_only=True)
class LoadModel(OfState):
    """Build the model under the name `plain`; with `step`, its forward and backward."""

    source: str
    init: Any
    """`encode`d arguments; their tensors are in block 0."""
    init_metas: tuple[TensorMeta, ...]
    seed: int
    copy_state: bool
    threads: int
    step: StepPlan | None


@dataclass(frozen=True, kw_only=True)
class AttachSlot(OfSlot):
    """Attach the memory of one input set: a block the inputs are in, and one for the outputs."""

    arguments: Any
    """`encode`d arguments; their tensors are in block 0."""
    metas: tuple[TensorMeta, ...]
    handles: tuple[Any, ...]
    output_bytes: int
    outputs_of: int | None = None
    """The slot whose memory for outputs it shares; None where block 1 is its own."""


class ThreadTeam(enum.Enum):
    """How many threads a call may use, and how many it gets."""

    USUAL = "usual"
    """Those that the model was loaded with."""
    ONE = "one"
    MANY = "many"
    """More than there are cores."""
    FEWER = "fewer"
    """As many as usual may be used, and OpenMP gives one, as in a parallel region of the caller's."""
    ANOTHER = "another"
    """As many as usual, in a call from a thread that has made none before."""
    SHALLOW = "shallow"
    """The same, and that thread has a small stack."""


class Manner(enum.Flag):
    """In what a call is not as a runner's calls usually are; see `workers.runner.manners`."""

    USUAL = 0
    GRADIENTS = 1
    """Gradients are recorded, as they are wherever nobody has switched that off."""
    OWN_MEMORY = 2
    """Each argument lies in memory that torch allocated for it."""
    REQUIRED = 4
    """Arguments of floats in such memory require gradients."""
    SETTINGS = 8
    """Other variables of the environment are set, and the seed is the one of a process that sets none."""
    GARBAGE = 16
    """On the CPU: memory that is allocated and not written to holds neither zeros nor what another call has left."""


@dataclass(frozen=True, kw_only=True)
class CallForm:
    """How a caller makes a call: with which threads, arguments by position or by keyword and where they lie, in which
    mode, and what becomes of the result."""

    team: ThreadTeam = ThreadTeam.USUAL
    """On the CPU: the threads that it gets."""
    names: tuple[str, ...] = ()
    """Of the arguments of `forward`, which are passed by keyword then."""
    in_other_mode: bool = False
    """In evaluation mode where the model is in training mode, and the other way round; it is as it was afterwards."""
    manner: Manner = Manner.USUAL
    layout: int = DENSE
    """How the tensors that it is given lie in memory; see `workers.runner.step`. All but dense ones are copies."""
    read_only: bool = False
    """On the CPU: its arguments lie in memory that can only be read, and a write ends the process."""
    use: GraphUse | None = None
    """Of a step: how its graph is used; None where that is usual."""
    overwrite: bool = False
    """Once what it returned is handed over, write over it and let go, as a caller may who needs it no more."""


USUAL_FORM = CallForm()


@dataclass(frozen=True, kw_only=True)
class CallModel(OfSlot):
    """Run a model once."""

    model: str = "plain"
    hold: bool = False
    """Keep what it returns as a caller would who needs it later."""
    observe: bool = False
    """Record PyTorch's operators."""
    at_once: bool = False
    """On the CPU: copy what it returns before anything is said, not after the word that it has returned."""
    form: CallForm = USUAL_FORM


class ChangeState(OfState):
    """Give the model's parameters and buffers other values, in place, as a step of training does: those whose values
    are others than before."""


class ModelOrigin(enum.Enum):
    """How another model of the same class comes about."""

    BUILT = "built"
    REUSED = "reused"
    """Built, and then put in the memory that the last one's tensors had, which is gone, as an allocator may do."""
    COPIED = "copied"
    """A deep copy of the last, which is gone then and whose memory others have; the copy's values change in place, and
    no version is one that the last has had."""
    ASSIGNED = "assigned"
    """What the last one is once other tensors stand in the place of its own: `load_state_dict(…, assign=True)`."""


@dataclass(frozen=True, kw_only=True)
class AddInstance(OfState):
    """Have another model of the same class beside the first, with these values; it is called `other`."""

    seed: int
    origin: ModelOrigin = ModelOrigin.BUILT
    init: Any = None
    """`encode`d arguments that it is built with, the first one's where there are none; their tensors are in block 1."""
    init_metas: tuple[TensorMeta, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CrowdIn(OfSlot):
    """Build up to `count` more models with the values of `other`, and call each once, for a tenth of a second; all stay
    until `DropInstance`."""

    count: int
    seed: int


class DropInstance(RunnerRequest):
    """Let go of all but the first."""


@dataclass(frozen=True, kw_only=True)
class InterleaveSteps(OfSlots):
    """Of a step on two or three slots: forward of the first, forwards of the second, then the backward of the first, of
    the second, and of the first again, with the third's cotangents, whose outcome is the third's. All outcomes are held
    to the end."""

    more: int = 0
    """How many further graphs of the second are open meanwhile, of which each has its backward."""


@dataclass(frozen=True, kw_only=True)
class HoldState(OfState):
    """Keep values of the model's parameters and buffers under a number, for `PutState` and `TimeBatch`."""

    number: int


@dataclass(frozen=True, kw_only=True)
class PutState(RunnerRequest):
    """Give the model's parameters and buffers the values that are held under a number, in place."""

    number: int


class DropStates(RunnerRequest):
    """Let go of all that `HoldState` kept."""


class ReadState(OfState):
    """Hand over the model's parameters and buffers as they are now, under the reference's names, in block 0."""


class AskWhatIsKept(OfSlot):
    """Run the model once, let go of what it returns, and say whether the memory of that is still there."""


@dataclass(frozen=True, kw_only=True)
class CallRepeatedly(OfSlot):
    """On the CPU: run the model's forward so many times by one thread, whatever it raises, and let go of what it
    returns."""

    count: int
    callers: int = 0
    """How many of the calls, the first ones, come from a new thread each."""
    with_backward: bool = False
    """Whether whole steps run, where the model is one."""
    collect: bool = False
    """Whether Python's garbage is collected before memory is read."""
    axes: tuple[tuple[int, int], ...] = ()
    """Tensors of the slot and their dimensions that are one longer in each call; none where all calls are alike."""
    least: int = 0
    """Their size in the first call; the slot has that of the last."""
    anew: bool = False
    """Whether each call gets a copy of the arguments, as one must that writes to them."""


class HandOverHeld(OfSlot):
    """Hand over what an early call returned, as it is now, and let go of it."""


@dataclass(frozen=True, kw_only=True)
class TimeBatch(OfSlots):
    """Run a model once for each slot, in turn."""

    model: str
    states: tuple[int, ...] = ()
    """For each call, the number of the values that the parameters are given before it, in place; none where they stay
    as they are. On the CPU that is part of the batch's time, whatever the model."""


@dataclass(frozen=True, kw_only=True)
class CallLate(OfSlot):
    """On a GPU: one call whose inputs arrive late, in stream order, and whose other streams are held up."""

    source: int
    """The slot whose inputs are copied in."""
    delay_us: int
    hold: bool


class CaptureGraph(OfSlot):
    """On a GPU: have CUDA record one call as a graph."""


class ForgetSlots(OfSlots):
    """Let go of slots."""


class DropOutputs(RunnerRequest):
    """Let go of what the last call returned."""


@dataclass(frozen=True, kw_only=True)
class FetchOutputs(RunnerRequest):
    """Hand over what the last call returned, or one call of the last batch."""

    index: int | None


class CountKernels(OfSlot):
    """Run a call between the marks that Nsight Compute looks for."""


class TraceKernels(OfSlot):
    """Run a call under torch's profiler."""


class QuitRunner(RunnerRequest):
    """End."""


@dataclass(frozen=True, kw_only=True)
class CompileModel(RunnerRequest):
    """To a baseline: compile the model under this name, which says how."""

    model: str


class AddIdle(OfSlot):
    """To a baseline: add the model `idle`, which returns what `plain` returns for a slot and computes nothing."""


@dataclass(frozen=True, kw_only=True)
class DraftCode(OfSlots):
    """To a baseline: write the compiler's own code as a candidate."""

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
        "add_instance": AddInstance,
        "crowd": CrowdIn,
        "drop_instance": DropInstance,
        "interleave": InterleaveSteps,
        "hold": HoldState,
        "put": PutState,
        "drop_states": DropStates,
        "left": ReadState,
        "kept": AskWhatIsKept,
        "repeat": CallRepeatedly,
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
RUNNING = (CallModel, AskWhatIsKept, CallRepeatedly, TimeBatch, InterleaveSteps, CallLate)
"""Requests in which the model runs."""
