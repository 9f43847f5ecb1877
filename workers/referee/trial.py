"""One candidate on trial: its process, how thoroughly it is examined, and what gates leave for later ones."""

from __future__ import annotations

import contextlib
import enum
import math
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from services.domain.evaluations import EvaluationRequest, HeldOutResult, ShapeResult, Tuned
from services.domain.measurements import Passes
from workers.ipc.tensors import flatten
from workers.referee.boundary.exchange import TimeLimit
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.boundary.slots import Slot
from workers.referee.boundary.worker_client import Runner, SeenTime
from workers.referee.boundary.worker_messages import Build
from workers.referee.comparison.error_log import ErrorLog
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale
from workers.referee.inputs.distributions import Distribution, rebuilt
from workers.referee.inputs.fresh_values import FreshValues
from workers.referee.inputs.schedule import Preparation
from workers.referee.state import ReferenceState
from workers.referee.timing.single_calls import Samples, Side
from workers.runner.protocol import Manner

LOAD_LIMIT_S = 30.0
UNCHANGING = "PROVEN FOR WEIGHTS THAT DO NOT CHANGE"
"""Begins the remark on a kernel that computes something of its weights once."""
PREPARED_S = 0.3
"""For draws made while the compiler runs, which takes as long at least."""
LAYOUT_SLOTS = 100_000
"""Between the slots of one input set whose cotangents lie differently in memory."""


class Mode(enum.Enum):
    """How thoroughly a candidate is examined."""

    FULL = "full"
    """By every gate: nothing else is accepted."""
    QUICK = "quick"
    """Right on a few draws, and how fast it is alone."""
    INTERPRETED = "interpreted"
    """A Triton candidate without a GPU: the interpreter shows right or wrong, never speed."""


@dataclass(frozen=True, kw_only=True)
class TimeBudget:
    """What a mode has time for. Shares are of the evaluation's time; once they are used up, a gate that has seen
    something is content."""

    call_limit_s: float | None = None
    """For one call; None: the session's own."""
    correctness_share: float = math.inf
    """For the draws of the correctness gate."""
    shapes_share: float = math.inf
    """For other shapes; what is under way then may take as long again."""


BUDGETS = {
    Mode.FULL: TimeBudget(),
    Mode.QUICK: TimeBudget(),
    Mode.INTERPRETED: TimeBudget(call_limit_s=60.0, correctness_share=0.4, shapes_share=0.6),
}
"""The interpreter runs one program of a grid after the other, each in Python."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The interleaved measurement on one input set."""

    number: int
    baseline: str
    samples: Samples
    shapes: tuple[tuple[int, ...], ...]
    bytes: int | None = None
    """Size of the tensors that `forward` is given."""


@dataclass(frozen=True, kw_only=True)
class Held:
    """What an early call returned, and what it has to be as long as anybody holds it."""

    session: RunnerSession
    slot: Slot
    arguments: list[Any]
    answer: Answer
    scales: Sequence[ErrorScale]
    distribution: Distribution


@dataclass(kw_only=True)
class Trial:
    """The candidate under examination, its process, and the evidence so far."""

    request: EvaluationRequest
    state: ReferenceState
    time_limit: TimeLimit
    """Of its processes together: when it is over, the candidate counts as hanging."""
    runner: Runner | None = None
    slots: dict[int, Slot] = field(default_factory=dict)
    operators: dict[str, int] = field(default_factory=dict)
    """PyTorch operators seen in one call, with the elements of their largest tensor."""
    seen_time: SeenTime | None = None
    """Whose code the calls' time was spent in, where they were sampled."""
    measured: list[Measured] = field(default_factory=list)
    shapes: list[ShapeResult] = field(default_factory=list)
    held_out: list[HeldOutResult] = field(default_factory=list)
    timed_held_out: list[int] = field(default_factory=list)
    """Numbers of the held-out input sets that are to be timed."""
    passes: Passes | None = None
    """How calls divide into forward and backward, where both are timed."""
    missing: tuple[str, ...] = ()
    """Parameters and buffers of the reference that it may keep in another shape, so that it cannot be given others."""
    printed_too_much: bool = False
    """Whether a process of the candidate's that has ended had printed more than a kernel has to say."""
    untried: dict[int, list[Distribution]] = field(default_factory=dict)
    """For each input set, kinds of values that have not come among the timed calls."""
    timed: dict[int, tuple[list[Any], FreshValues]] = field(default_factory=dict)
    """For each input set, arguments like those of its timed calls, and where their values come from."""
    held: Held | None = None
    """The outputs of an early call, which the candidate's process still holds."""
    is_called_on: bool = False
    """Whether an ordinary call has followed one that raised an exception."""
    errors: ErrorLog = field(default_factory=ErrorLog)
    """How far outputs were off."""
    phases: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    manners: Manner = ~Manner.USUAL
    """In what calls without a figure may be as another caller's: what the candidate has not refused."""
    tuned: Tuned | None = None
    """The setting of its `TUNABLES` that it is judged with, where there was something to search."""

    def __post_init__(self) -> None:
        """Nothing is drawn yet."""
        self._preparation = Preparation(self.state, lambda number: self.state.tried.usable(number))

    @property
    def mode(self) -> Mode:
        """How thoroughly it is examined."""
        if self.request.backend == "triton" and not self.state.place.is_gpu:
            return Mode.INTERPRETED
        return Mode.FULL if self.request.every_gate else Mode.QUICK

    @property
    def budget(self) -> TimeBudget:
        """What its mode has time for."""
        return BUDGETS[self.mode]

    @property
    def used_share(self) -> float:
        """Share of the evaluation's time that its calls have taken."""
        return 1 - self.time_limit.left_s / self.request.timeout_s

    def build(self) -> Build:
        """The candidate's build; draws are made while the compiler runs."""
        self.state.link.begin_build()
        self._preparation.prepare(until=time.monotonic() + PREPARED_S)
        return self.state.link.build()

    def draw(self, number: int, distribution: Distribution) -> list[Any]:
        """Arguments for an input set that this candidate has not seen."""
        return self._preparation.draw(number, distribution)

    def draw_as_timed(self, number: int, distribution: Distribution) -> list[Any]:
        """Arguments that come about as those of timed calls do, and are then changed as a distribution has it: their
        spread, and what they have in common, do not show that no figure is taken of the call."""
        if number not in self.timed:
            return self.draw(number, distribution)
        like, values = self.timed[number]
        return self.state.changed(list(rebuilt(like, values.separate())), distribution)

    def shapes_of(self, arguments: Sequence[Any]) -> tuple[tuple[int, ...], ...]:
        """Shapes of the tensors that `forward` is given."""
        return tuple(tuple(tensor.shape) for tensor in flatten(self.state.problem.forward_arguments(arguments)))

    @property
    def session(self) -> RunnerSession:
        """The connection to the candidate's process, once it is loaded."""
        assert self.runner is not None
        return self.runner.session

    def start(self) -> None:
        """Start the candidate's process, which has nothing loaded yet."""
        self.runner = self.state.link.spawn("candidate", self.time_limit)
        if self.budget.call_limit_s is not None:
            self.session.call_limit_s = self.budget.call_limit_s

    def build_model(self, *, seed: int, copy_state: bool) -> bool:
        """Build the model in its process; whether its parameters could be matched with the reference's."""
        return self.state.problem.build_in(
            self.session,
            self.request.source,
            seed=seed,
            copy_state=copy_state,
            threads=self.state.threads,
            limit_s=LOAD_LIMIT_S,
        )

    def load(self) -> bool:
        """Start its process and build the model in it: under a secret seed where the reference's parameters can be
        copied, which is returned, else under the reference's own. Raises `RunnerFault`."""
        self.start()
        if self.build_model(seed=secrets.randbits(31), copy_state=True):
            return True
        self.missing = self.session.missing
        problem = self.state.problem
        problem.seed_is_out = True
        self.build_model(seed=problem.init_seed, copy_state=False)
        return False

    def load_again(self) -> None:
        """Put it into a new process, with nothing open. Raises `RunnerFault` where it does not load there."""
        self.end_runner()
        self.close_slots()
        self.load()

    @contextlib.contextmanager
    def another(self) -> Iterator[Trial]:
        """The same candidate in a process of its own, which is to be started and ends here."""
        if self.state.is_large:
            self.rest()
        other = Trial(request=self.request, state=self.state, time_limit=self.time_limit)
        try:
            yield other
        finally:
            other.close_slots()
            other.end_runner()

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time spent inside to a phase of the report."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.phases[name] = self.phases.get(name, 0.0) + time.monotonic() - started

    def slot(self, number: int, arguments: Sequence[Any]) -> Slot:
        """The shared memory of an open input set."""
        place = number if not self.state.problem.is_step else number + LAYOUT_SLOTS * int(arguments[-1])
        if place not in self.slots:
            self.slots[place] = self.session.open_slot(place, list(arguments), self.state.metas(number))
        return self.slots[place]

    def named(self, result: ShapeResult, number: int) -> ShapeResult:
        """The figures of an input set with its name and weight."""
        problem = self.state.problem
        name = problem.set_names[number]
        return replace(result, name=name, weight=problem.objective.weight(name))

    def bytes_of(self, arguments: Sequence[Any]) -> int:
        """Size of the tensors that `forward` is given."""
        return sum(tensor.nbytes for tensor in flatten(self.state.problem.forward_arguments(arguments)))

    def close_slot(self, number: int) -> None:
        """Give the shared memory of an input set back."""
        for place in [
            place for place in self.slots if place == number or (number > 0 and place % LAYOUT_SLOTS == number)
        ]:
            self.slots.pop(place).close()

    def close_slots(self) -> None:
        """Give the shared memory of all input sets back."""
        for slot in self.slots.values():
            slot.close()
        self.slots.clear()

    def rest(self) -> None:
        """Have the candidate's process give its device memory back until it is next asked. Raises `RunnerFault`."""
        self.held = None  # its slot is closed here
        try:
            self.session.forget(list(self.slots.values()))
        finally:
            self.close_slots()

    def end_runner(self) -> None:
        """End the candidate's process, where there is one."""
        runner, self.runner = self.runner, None
        if runner is not None:
            self.printed_too_much |= self.state.link.kill(runner)

    def side(self, number: int, arguments: Sequence[Any]) -> Side:
        """The candidate as one of two rivals in a measurement."""
        return Side(session=self.session, slot=self.slot(number, arguments), model="plain")
