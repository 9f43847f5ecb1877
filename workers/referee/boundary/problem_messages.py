"""What a referee asks of the process that holds the problem, and the answers; notes of its steps come before these.

The problem's code runs there, so no answer is trusted: it says what the reference computes, and nothing about a
candidate. Nested values accompany a message as `HandedValues`, by one block of memory; see `workers.ipc.packed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from services.domain.devices import DeviceSheet
from services.domain.models import ModelProfile
from services.domain.objectives import Objective
from services.domain.problems import Problem, ProblemAnalysis
from workers.ipc.messages import Messages
from workers.ipc.packed import Packed
from workers.referee.boundary.worker_messages import StepBegun
from workers.runner.step import GraphUse, StepPlan

LONGEST_S = 80.0
"""Seconds after which a step is given up however busy the machine is; below the worker's own limit."""


@dataclass(frozen=True, kw_only=True)
class HandedValues:
    """A nested value that accompanies a message."""

    data: Any
    """As `workers.ipc.tensors.structure` says it."""
    packed: Packed
    """Where its tensors lie in the block."""


@dataclass(frozen=True, kw_only=True)
class BlockGiven:
    """Sent with a message: the block from now on; its descriptors come with the message."""

    size: int
    """In bytes; 0 where the old one is to be given back and there is no new one."""
    handle: Any
    """See `workers.ipc.tensors.Shared.handle`."""


class Way(StrEnum):
    """How the reference is run."""

    USUAL = "usual"
    FORWARD = "forward"
    """The forward pass alone of a problem with a backward pass."""
    DOUBLE = "double"
    """In float64."""


class ModelVariant(StrEnum):
    """A model that stands in for the reference's for a while."""

    TRAINED = "trained"
    """What held one value before any training (ones, zeros) holds others."""
    MOVED = "moved"
    """All parameters whose gradients are judged, or that can have one, have moved, as after a step of training."""
    ORDINARY = "ordinary"
    """These parameters have the size of a trained model's."""
    SPREAD = "spread"
    """Vectors of them come from a wide range, and matrices are nearly of rank one."""
    GROWN = "grown"
    """Vectors of them are up to ten times as large, and matrices have a faint column or are nearly diagonal."""
    SETTINGS = "settings"
    """Built with an entry of `INIT_SETS`."""
    ANOTHER = "another"
    """Built under another seed; parameters have moved besides, and so have the statistics of norms."""
    STATISTICS = "statistics"
    """The statistics of norms have moved."""
    WITHOUT = "without"
    """One of its parameters or buffers is zero."""


class StatePart(StrEnum):
    """What holds the other values in `ModelVariant.ANOTHER`."""

    ALL = "all"
    FROZEN = "frozen"
    """Buffers, and parameters that have no gradient."""
    ONE = "one"
    """One of all; where gradients are judged, one of those that have one."""


class ProblemRequest:
    """What may be asked of the process that holds the problem."""


@dataclass(frozen=True, kw_only=True)
class LoadProblem(ProblemRequest):
    """Import the problem and build its model."""

    problem: Problem
    memory_bytes: int | None
    """Bounds a process: shapes of a list that need more are left out."""
    init_seed: int
    """What the model's weights are drawn under."""
    sample_seed: int
    """What the held-out shapes of a list are drawn under."""
    threads: int


@dataclass(frozen=True, kw_only=True)
class UseThreads(ProblemRequest):
    """Let torch use so many threads from now on."""

    count: int


@dataclass(frozen=True, kw_only=True)
class Examine(ProblemRequest):
    """Run the reference on every open input set and say whether it is usable."""


@dataclass(frozen=True, kw_only=True)
class Analyse(ProblemRequest):
    """Trace the reference's operators."""

    device: DeviceSheet


@dataclass(frozen=True, kw_only=True)
class KeepState(ProblemRequest):
    """Have each call find the model as it was built."""

    names: tuple[str, ...] | None
    """The parameters and buffers that a call changes, where that is known."""


@dataclass(frozen=True, kw_only=True)
class DrawInputs(ProblemRequest):
    """Draw the arguments of a call; they are handed over."""

    number: int
    seed: int
    layout: int


@dataclass(frozen=True, kw_only=True)
class DrawCotangents(ProblemRequest):
    """Draw cotangents for the given arguments of `forward`; they are handed over."""

    layout: int


@dataclass(frozen=True, kw_only=True)
class RunReference(ProblemRequest):
    """Run the reference on the given arguments; what it returns is handed over, and on request the arguments as they
    are then."""

    way: Way
    with_inputs: bool
    use: GraphUse | None = None
    """Of a problem with a backward pass: how a step's graph is used; None where that is usual."""


@dataclass(frozen=True, kw_only=True)
class TryOnHost(ProblemRequest):
    """On a GPU: whether the model takes the given arguments on the CPU, where an index out of range does no harm."""


@dataclass(frozen=True, kw_only=True)
class LearnManners(ProblemRequest):
    """What a call with the given arguments does besides returning something."""


@dataclass(frozen=True, kw_only=True)
class ReadReferenceState(ProblemRequest):
    """Hand over the model's parameters and buffers; with arguments given, those that a call of a copy leaves."""

    exact: bool
    """The call is one in float64."""


@dataclass(frozen=True, kw_only=True)
class BeginVariant(ProblemRequest):
    """Have another model stand in for the one that is the reference now, until the next `EndVariant`."""

    variant: ModelVariant
    number: int
    """Of the entry of `INIT_SETS`; the seed of parameters that have changed."""
    name: str | None = None
    """Of the parameter or buffer that is zero."""
    signed: bool = False
    """Whether parameters get both signs."""
    zeros: bool = False
    """Of `SPREAD` and `GROWN`: whether some elements are zero."""
    width: float = 1.0
    """Of `SPREAD` and `GROWN`: how much of that range is used."""
    part: StatePart = StatePart.ALL
    in_other_mode: bool = False
    """Whether the model is in evaluation mode where it is built in training mode, and the other way round."""


@dataclass(frozen=True, kw_only=True)
class EndVariant(ProblemRequest):
    """Have the model again that was the reference before."""


@dataclass(frozen=True, kw_only=True)
class DrawWeights(ProblemRequest):
    """Build the model under another seed."""

    seed: int


@dataclass(frozen=True, kw_only=True)
class PrepareOperators(ProblemRequest):
    """Make ready to run the reference's operators alone on the given arguments."""

    traced: bool
    """Whether the reference could be traced."""


@dataclass(frozen=True, kw_only=True)
class TimeOperators(ProblemRequest):
    """Run them once."""


@dataclass(frozen=True, kw_only=True)
class ProfileReference(ProblemRequest):
    """Where the model's time goes, and its parts as problems."""

    device: DeviceSheet


REQUESTS: Messages[ProblemRequest] = Messages(
    "request",
    {
        "load": LoadProblem,
        "threads": UseThreads,
        "examine": Examine,
        "analyse": Analyse,
        "keep": KeepState,
        "inputs": DrawInputs,
        "cotangents": DrawCotangents,
        "run": RunReference,
        "host": TryOnHost,
        "manners": LearnManners,
        "state": ReadReferenceState,
        "variant": BeginVariant,
        "end_variant": EndVariant,
        "weights": DrawWeights,
        "operators": PrepareOperators,
        "time_operators": TimeOperators,
        "profile": ProfileReference,
    },
)


class ProblemAnswer:
    """What that process may answer."""


@dataclass(frozen=True, kw_only=True)
class RoomWanted(ProblemAnswer):
    """Before an answer whose values need a larger block: it is sent alone."""

    size: int
    """In bytes."""


@dataclass(frozen=True, kw_only=True)
class ProblemRefused(ProblemAnswer):
    """To any request: the problem cannot be used, or does not take what it was given."""

    reason: str
    remedy: str
    line: int | None


@dataclass(frozen=True, kw_only=True)
class ProblemFailed(ProblemAnswer):
    """To any request: the machine does not let it be met."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class ProblemDone(ProblemAnswer):
    """To requests for an act, or for values, which accompany it."""


@dataclass(frozen=True, kw_only=True)
class ProblemLoaded(ProblemAnswer):
    """To `LoadProblem`: what the problem's file says. What the model is built with is handed over."""

    set_names: tuple[str, ...]
    """What the objective calls the open input sets, that of `get_inputs` first."""
    held_out: int
    """Held-out input sets."""
    init_sets: int
    """Entries of `INIT_SETS`."""
    notes: tuple[str, ...]
    """What became of the problem's list of shapes."""
    objective: Objective
    tolerance: dict[str, tuple[float, float]]
    """What `TOLERANCE` says: atol and rtol by dtype."""
    library: tuple[str, ...]
    """Operators a candidate may call from a library."""
    step: StepPlan | None
    """What runners have to know to call both passes; None where only the forward pass is judged."""
    gradient_names: tuple[str, ...]
    """Names of the gradients that are judged."""
    forward_line: int | None
    """Where the problem's file defines `Model.forward`."""
    argument_names: tuple[str, ...]
    """The parameters of `Model.forward`, as far as they have names of their own."""
    defaults: dict[str, bool | int | float | str | None]
    """Of those of them that may be left out, what they are then, where that is plain."""


@dataclass(frozen=True, kw_only=True)
class ProblemAnalysed(ProblemAnswer):
    """To `Analyse`."""

    analysis: ProblemAnalysis
    broken_off: bool
    """Whether a trace was ended in the middle: the process is not to be asked anything more."""


@dataclass(frozen=True, kw_only=True)
class StateKept(ProblemAnswer):
    """To `KeepState`."""

    names: tuple[str, ...]
    """The parameters and buffers that a call changes."""
    remark: str | None
    """What the report has to say of it."""


@dataclass(frozen=True, kw_only=True)
class ReferenceRan(ProblemAnswer):
    """To `RunReference`."""

    outputs: int | None
    """Tensors that it returned: the first of those that are handed over; None where it was not written for float64."""
    peak_bytes: int
    """The most device memory that the run took, besides its inputs."""


@dataclass(frozen=True, kw_only=True)
class Applies(ProblemAnswer):
    """To `TryOnHost` and `BeginVariant`: whether it does, or whether there is anything that varies. To
    `ModelVariant.STATISTICS`: whether the model is in training mode."""

    applies: bool


@dataclass(frozen=True, kw_only=True)
class Manners(ProblemAnswer):
    """To `LearnManners`."""

    mutates: bool
    """Whether a call changes its arguments."""
    aliases: tuple[tuple[int, int], ...]
    """Outputs that lie in the memory of arguments: the number of each, and of the argument."""
    shares: tuple[tuple[int, int | None], ...]
    """Outputs that lie in each other's memory: the later one's number and the earlier one's, or None where that is the
    model's."""
    modes: tuple[tuple[int, str], ...]
    """Outputs that a mode of torch makes other tensors than usual: the number of each, and what it is."""


@dataclass(frozen=True, kw_only=True)
class OperatorsTimed(ProblemAnswer):
    """To `TimeOperators`."""

    seconds: float


@dataclass(frozen=True, kw_only=True)
class ReferenceProfiled(ProblemAnswer):
    """To `ProfileReference`."""

    profile: ModelProfile


ANSWERS: Messages[ProblemAnswer | StepBegun] = Messages(
    "said",
    {
        "step": StepBegun,
        "room": RoomWanted,
        "refused": ProblemRefused,
        "failed": ProblemFailed,
        "done": ProblemDone,
        "loaded": ProblemLoaded,
        "analysed": ProblemAnalysed,
        "kept": StateKept,
        "ran": ReferenceRan,
        "applies": Applies,
        "manners": Manners,
        "timed": OperatorsTimed,
        "profiled": ReferenceProfiled,
    },
)
