"""One candidate on trial: what the gates read and what they leave for later gates. And the gates' one interface."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch

from services.domain.evaluations import EvaluationRequest, HeldOutResult, ShapeResult, Tuned
from services.domain.gates import GateName, GateStatus
from services.domain.measurements import Passes
from workers.ipc.tensors import TensorMeta, flatten, shares_memory
from workers.referee.comparing.comparison import ErrorScale, examine, finite_slices, worse
from workers.referee.comparing.error_scales import same_bytes
from workers.referee.comparing.output_errors import Account, ErrorLog
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.inputs.draws import Distribution, drawn, rebuilt
from workers.referee.inputs.eight_bits import widened
from workers.referee.inputs.fresh_values import FreshValues
from workers.referee.preparation import Preparation
from workers.referee.problem.contract import Answer, ContractError, places
from workers.referee.questions import Build
from workers.referee.session.fetched import Fetched, Output
from workers.referee.session.runner_client import RunnerSession
from workers.referee.session.slots import Slot
from workers.referee.state import ReferenceState
from workers.referee.timing.single_calls import Samples, Side
from workers.referee.worker_client import Runner, SeenTime

LEAST_TURNED = 64 << 10
"""Bytes of an output from which on its order in memory is looked at: turning less takes microseconds."""
Accounts = list[tuple[str, Account]]
"""How far the tensors of one call are off, each under its name."""
LAYOUT_SLOTS = 100_000
"""Between the slots of one input set whose cotangents lie differently in memory."""
NOT_PASSED_ON = "a NaN or infinity among the inputs gives another output than the reference's (other slices are right)"


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
    deadline: float
    """On the monotonic clock: when the candidate is blamed for hanging."""
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
    accounts: Accounts = []
    finding = _judged(trial, fetched, answer, scales, where, accounts, finite_only=finite_only)
    trial.errors.note(where, accounts)
    return finding


def _judged(
    trial: Trial,
    fetched: Fetched,
    answer: Answer,
    scales: Sequence[ErrorScale],
    where: str,
    accounts: Accounts,
    *,
    finite_only: bool,
) -> GateFinding | None:
    """The same; `accounts` gets how far each output is off, up to the first that is wrong."""
    wrong_type = next((out for out in fetched.outputs if out.meta is None), None)
    if wrong_type is not None:
        return failed(f"{where}: returned {wrong_type.kind}, not a plain torch.Tensor", GateName.INTEGRITY)
    try:
        order = places(fetched.structure, answer.shape)
        outputs = [fetched.outputs[place] for place in order]
    except ContractError as error:
        return failed(f"{where}: {error}")
    except IndexError:
        return failed(f"{where}: an output is not described", GateName.INTEGRITY)
    for index, (output, wanted) in enumerate(zip(outputs, answer.tensors, strict=True)):
        label = _called(trial, index, len(outputs))
        place = _misplaced(trial, index, output, order, wanted)
        wrong, account = _compared(trial, output, wanted, scales[index], place, finite_only=finite_only)
        if account is not None:
            accounts.append((label.removeprefix("the "), account))
        if wrong is not None:
            return failed(f"{where}: {label} {wrong}")
    return None


def _compared(
    trial: Trial, output: Output, wanted: torch.Tensor, scale: ErrorScale, place: str | None, *, finite_only: bool
) -> tuple[str | None, Account | None]:
    """What is wrong with one output, in words that follow its name, and how far it is off, where that was compared."""
    if output.meta != TensorMeta.of(wanted):
        return f"is {output.meta}, expected {TensorMeta.of(wanted)}", None
    if output.value is None:
        return "could not be read as dense memory: return a strided tensor on the problem's device", None
    if place is not None:
        return place, None
    value = output.value
    if finite_only:
        kept = finite_slices(wanted)
        note_non_finite(trial, value, wanted)
        value, wanted = value[kept], wanted[kept]
    compared = examine(value, wanted, scale, trial.state.problem.tolerances)
    return (None if compared.mismatch is None else compared.mismatch.detail), compared.account


def judge_on_values(
    trial: Trial,
    fetched: Fetched,
    arguments: list[Any],
    answer: Answer,
    distribution: Distribution,
    scales: Sequence[ErrorScale],
    where: str,
) -> GateFinding | None:
    """The same for arguments that are still at hand. What is found is judged once more by how exact the reference is
    on these very values: how large errors are differs from draw to draw, and nobody is accused by chance."""
    partly = not distribution.finite
    accounts: Accounts = []
    finding = _judged(trial, fetched, answer, scales, where, accounts, finite_only=partly)
    if finding is not None and finding.gate is None:
        own = trial.state.scales_on(arguments, answer.tensors, distribution)
        if own is not None:
            both = [worse(one, other) for one, other in zip(own, scales, strict=True)] if scales else own
            accounts.clear()  # the allowances were others
            finding = _judged(trial, fetched, answer, both, where, accounts, finite_only=partly)
    trial.errors.note(where, accounts)
    return finding


def _called(trial: Trial, index: int, count: int) -> str:
    """What people call one of the tensors that a call hands over."""
    gradients = trial.state.problem.gradient_names
    own = count - len(gradients)
    if index >= own:
        return f"the gradient of {gradients[index - own]}"
    return f"output {index}" if own > 1 else "the output"


def _misplaced(trial: Trial, index: int, output: Output, order: Sequence[int], wanted: torch.Tensor) -> str | None:
    """Where an output lies that the reference's, which has the number `index`, does not. `order` has the numbers by
    which the candidate speaks of its own."""
    if output.alias is not None and (index, output.alias) not in trial.state.aliases:
        return f"lies in the memory of input {output.alias}, the reference's does not"
    if output.shared is not None and (index, _number_of(output.shared, order)) not in trial.state.shares:
        return f"lies in the memory of {output.shared}, the reference's does not: give it memory of its own"
    if not output.written_out and not (shares_memory(wanted) or wanted.is_conj() or wanted.is_neg()):
        return "has elements that share memory, or are negated by whoever reads; the reference's has none: write it out"
    if is_turned(output.strides, wanted):
        return (
            f"has the strides {list(output.strides)}, the reference's {list(wanted.stride())}: whoever reads it would "
            f"have to turn it; return it in row-major order or in the reference's"
        )
    return None


def _number_of(shared: str, order: Sequence[int]) -> int | None:
    """The reference's number of the output that another one is said to lie in; None for the model's memory."""
    place = shared.removeprefix("output ")
    return order.index(int(place)) if place.isdecimal() and int(place) in order else None


def is_turned(strides: Sequence[int], wanted: torch.Tensor) -> bool:
    """Whether an output of some size lies in another order of dimensions than row-major and the reference's: then
    putting it in order is left to whoever reads it. Gaps between rows are nobody's business."""
    if wanted.nbytes < LEAST_TURNED or len(strides) != wanted.dim():
        return False
    dims = [dim for dim in range(wanted.dim()) if wanted.shape[dim] > 1]
    as_wanted = sorted(dims, key=wanted.stride().__getitem__, reverse=True)
    return not any(
        all(strides[one] >= strides[other] for one, other in itertools.pairwise(order)) for order in (dims, as_wanted)
    )


def note_non_finite(trial: Trial, value: torch.Tensor, wanted: torch.Tensor) -> None:
    """Remark where NaN and infinities of the inputs come out otherwise than from the reference."""
    value, wanted = widened(value), widened(wanted)
    same = torch.equal(torch.isnan(value), torch.isnan(wanted)) and torch.equal(torch.isinf(value), torch.isinf(wanted))
    if not same and NOT_PASSED_ON not in trial.notes:
        trial.notes.append(NOT_PASSED_ON)


def judge_inputs(
    trial: Trial, slot: Slot, tensors: Sequence[torch.Tensor], answer: Answer, where: str
) -> GateFinding | None:
    """What is wrong with the arguments after a call: as they were, or as the reference leaves them, where it writes."""
    left = answer.inputs or tensors
    for index, (seen, own, wanted) in enumerate(zip(slot.inputs.tensors, tensors, left, strict=True)):
        if same_bytes(own, wanted):
            if not same_bytes(seen, own):
                return failed(f"{where}: input {index} was changed by the call", GateName.INTEGRITY)
            continue
        compared = examine(seen, wanted, ErrorScale(), trial.state.problem.tolerances)
        if compared.account is not None:
            trial.errors.note(where, [(f"input {index}", compared.account)])
        if compared.mismatch is not None:
            return failed(f"{where}: input {index}, which the reference changes in place, {compared.mismatch.detail}")
    return None


def blamed_gate(fault: RunnerFault, current: GateName) -> GateName:
    """The gate a fault belongs to: forgeries are a matter of integrity wherever they happen."""
    return GateName.INTEGRITY if fault.kind is FaultKind.FORGED else current
