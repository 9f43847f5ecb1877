"""One candidate on trial: what the gates read and what they leave for later gates. And the gates' one interface."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch

from services.domain.evaluations import EvaluationRequest, HeldOutResult, ShapeResult, Tuned
from services.domain.gates import GateName, GateStatus
from services.domain.measurements import Passes
from workers.ipc.tensors import flatten
from workers.referee.comparing.comparison import ErrorScale
from workers.referee.comparing.output_errors import ErrorLog
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.inputs.draws import Distribution, drawn, rebuilt
from workers.referee.inputs.fresh_values import FreshValues
from workers.referee.judgement import Judgement, judged_inputs, judged_on_values, judged_outputs
from workers.referee.preparation import Preparation
from workers.referee.problem.contract import Answer
from workers.referee.questions import Build
from workers.referee.session.exchange import TimeLimit
from workers.referee.session.fetched import Fetched
from workers.referee.session.runner_client import RunnerSession
from workers.referee.session.slots import Slot
from workers.referee.state import ReferenceState
from workers.referee.timing.single_calls import Samples, Side
from workers.referee.worker_client import Runner, SeenTime

LAYOUT_SLOTS = 100_000
"""Between the slots of one input set whose cotangents lie differently in memory."""


@dataclass(frozen=True, kw_only=True)
class GateFinding:
    """What a gate found."""

    status: GateStatus
    detail: str
    gate: GateName | None = None
    """Another gate that the evidence belongs to, where it is not the one that found it."""


def passed(detail: str) -> GateFinding:
    """Nothing against the candidate."""
    return GateFinding(status=GateStatus.PASSED, detail=detail)


def failed(detail: str, gate: GateName | None = None) -> GateFinding:
    """Evidence."""
    return GateFinding(status=GateStatus.FAILED, detail=detail, gate=gate)


def suspicious(detail: str) -> GateFinding:
    """A hint."""
    return GateFinding(status=GateStatus.SUSPICIOUS, detail=detail)


class Gate(Protocol):
    """One examination. Gates run in order; the first failure ends the trial."""

    @property
    def name(self) -> GateName:
        """Which gate."""

    def examine(self, trial: Trial) -> GateFinding:
        """The outcome. Raises `RunnerFault` when the candidate's process fails in it, which fails this gate."""


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
    answer: Answer
    scales: Sequence[ErrorScale]


@dataclass(kw_only=True)
class Trial:
    """The candidate under examination, its process, and the evidence so far."""

    request: EvaluationRequest
    state: ReferenceState
    time_limit: TimeLimit
    """Of its processes together: when it is over, the candidate is blamed for hanging."""
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
    printed_too_much: bool = False
    """Whether a process of the candidate's that has ended had printed more than a kernel has to say."""
    untried: dict[int, list[Distribution]] = field(default_factory=dict)
    """For each input set, kinds of values that have not come among the timed calls."""
    timed: dict[int, tuple[list[Any], FreshValues]] = field(default_factory=dict)
    """For each input set, arguments like those of its timed calls, and where their values come from."""
    held: Held | None = None
    """The outputs of an early call, which the candidate's process still holds."""
    errors: ErrorLog = field(default_factory=ErrorLog)
    """How far outputs were off."""
    phases: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    tuned: Tuned | None = None
    """The setting of its `TUNABLES` that it is judged with, where there was something to search."""

    def __post_init__(self) -> None:
        """Nothing is drawn yet."""
        self._preparation = Preparation(self.state)

    def build(self) -> Build:
        """The candidate's build; draws are made while the compiler runs."""
        self.state.link.begin_build()
        self._preparation.prepare()
        return self.state.link.build()

    def draw(self, number: int, distribution: Distribution) -> list[Any]:
        """Arguments for an input set that this candidate has not seen."""
        return self._preparation.draw(number, distribution)

    def draw_as_timed(self, number: int, distribution: Distribution) -> list[Any]:
        """Arguments that come about as those of timed calls do, and are then changed as a distribution has it: nobody
        can tell by their spread, or by what they have in common, that no figure is taken of the call."""
        if number not in self.timed:
            return self.draw(number, distribution)
        like, values = self.timed[number]
        return drawn(list(rebuilt(like, values.separate())), distribution)

    def shapes_of(self, arguments: Sequence[Any]) -> tuple[tuple[int, ...], ...]:
        """Shapes of the tensors that `forward` is given."""
        return tuple(tuple(tensor.shape) for tensor in flatten(self.state.problem.forward_arguments(arguments)))

    @property
    def session(self) -> RunnerSession:
        """The connection to the candidate's process, once it is loaded."""
        assert self.runner is not None
        return self.runner.session

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


def judge_outputs(
    trial: Trial,
    fetched: Fetched,
    answer: Answer,
    scales: Sequence[ErrorScale],
    where: str,
    *,
    finite_only: bool = False,
) -> GateFinding | None:
    """What is wrong with the outputs of one call, or None.

    With `finite_only`, leading slices that the reference itself does not keep finite are not judged."""
    return _found(trial, judged_outputs(trial.state, fetched, answer, scales, finite_only=finite_only), where)


def judge_on_values(
    trial: Trial,
    fetched: Fetched,
    arguments: list[Any],
    answer: Answer,
    distribution: Distribution,
    scales: Sequence[ErrorScale],
    where: str,
) -> GateFinding | None:
    """The same for arguments that are still at hand; see `judged_on_values`."""
    return _found(trial, judged_on_values(trial.state, fetched, arguments, answer, distribution, scales), where)


def judge_inputs(
    trial: Trial, slot: Slot, tensors: Sequence[torch.Tensor], answer: Answer, where: str
) -> GateFinding | None:
    """What is wrong with the arguments after a call: as they were, or as the reference leaves them, where it writes."""
    return _found(trial, judged_inputs(trial.state, slot, tensors, answer), where)


def _found(trial: Trial, judgement: Judgement, where: str) -> GateFinding | None:
    """A judgement as a gate's finding; how far the tensors were off is kept."""
    trial.errors.note(where, judgement.accounts)
    for remark in judgement.remarks:
        if remark not in trial.notes:
            trial.notes.append(remark)
    if judgement.wrong is None:
        return None
    return failed(f"{where}: {judgement.wrong}", GateName.INTEGRITY if judgement.is_forged else None)


def blamed_gate(fault: RunnerFault, current: GateName) -> GateName:
    """The gate a fault belongs to: forgeries are a matter of integrity wherever they happen."""
    return GateName.INTEGRITY if fault.kind is FaultKind.FORGED else current
