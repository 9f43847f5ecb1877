"""The referee's side of the problem: what its reference computes, asked of the process that runs its code.

A process that a call brings down costs that call: the next one finds a new process with the same weights.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import torch

from services.domain import constraints
from services.domain.devices import DeviceSheet
from services.domain.errors import InfrastructureError
from services.domain.models import ModelProfile
from services.domain.problems import Problem, ProblemAnalysis
from services.domain.python_source import parsed
from services.ports.sandboxes import ExitStatus
from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import TensorMeta, check_structure, decode
from workers.referee.boundary import problem_messages as messages
from workers.referee.boundary.problem_connection import (
    WRONG,
    WRONG_REMEDY,
    ProblemConnection,
    ProblemLostError,
    ProblemTalkError,
    Received,
)
from workers.referee.boundary.problem_end import refused_end
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import self_attested, tolerances
from workers.referee.errors import Refused
from workers.referee.inputs.constraints import Limits
from workers.runner.step import DENSE, GraphUse

A = TypeVar("A", bound=messages.ProblemAnswer)
SEED_BITS = 31
LIMITS_SEEDS = (1, 2)
"""What every input set is drawn under to see whether it keeps the problem's promises."""
GONE = "the problem's process ended while another model stood in for the reference's"


class ProblemProcesses(Protocol):
    """Where processes that hold a problem come from, one at a time."""

    def connect(self) -> ProblemConnection:
        """Start one."""

    def end(self) -> ExitStatus | None:
        """End it; how it had ended by itself, None where it still ran."""


class IsolatedProblem:
    """A loaded problem. Raises `Refused` where the problem cannot be used or does not take what it is given."""

    def __init__(
        self,
        processes: ProblemProcesses,
        problem: Problem,
        place: TensorDevice | None = None,
        *,
        memory_bytes: int | None = None,
        threads: int = 1,
    ) -> None:
        """`memory_bytes` bounds a process: shapes of a list that need more are left out."""
        self._processes = processes
        self._connection: ProblemConnection | None = None
        self._memory_bytes = memory_bytes
        self._threads = threads
        self._sample_seed = secrets.randbits(SEED_BITS)
        self._variants = 0
        self.has_other_settings = False
        """Whether the reference is built with an entry of `INIT_SETS`."""
        self.problem = problem
        self.place = place or TensorDevice()
        self.init_seed = secrets.randbits(SEED_BITS)
        """What the model's weights are drawn under. Secret, so that no candidate can be written for them."""
        self.seed_is_out = False
        """Whether a candidate's process was given that seed, and may have passed it to the author of the next one."""
        self.changing: tuple[str, ...] = ()
        """The model's parameters and buffers that a call changes, where that was looked at."""
        loaded, self.init_inputs = self._load()
        self.set_names = loaded.set_names
        """What the objective calls the open input sets, the first one's first."""
        self.held_out = loaded.held_out
        """Held-out input sets."""
        self.init_sets = loaded.init_sets
        """Other init inputs that the model may be built with, the inputs being the same."""
        self.notes = loaded.notes
        """What became of the problem's list of shapes."""
        self.objective = loaded.objective
        self.tolerances = _tolerances(loaded)
        self.self_attested = self_attested(self.tolerances)
        """Why accepted results rest on the problem's own word; None where they do not."""
        self.library = frozenset(loaded.library)
        """Operators a candidate may call from a library."""
        self.step_plan = loaded.step
        """What runners have to know to call both passes; None where only the forward pass is judged."""
        self.gradient_names = loaded.gradient_names
        """Names of the gradients that are judged; empty where only the forward pass is."""
        self.forward_line = loaded.forward_line
        """Where the problem's file defines `Model.forward`."""
        self.argument_names = loaded.argument_names
        """The parameters of `Model.forward`, as far as they have names of their own."""
        self.defaults = loaded.defaults
        """Of those of them that may be left out, what they are then, where that is plain."""
        self.limits = _limits(problem, loaded.argument_names)
        """What the problem promises of the arguments of `Model.forward`."""
        if len(self.set_names) == 0:
            raise Refused(WRONG.format("there is no input set"), WRONG_REMEDY)

    @property
    def input_sets(self) -> int:
        """Open input sets besides that of `get_inputs`."""
        return len(self.set_names) - 1

    @property
    def is_step(self) -> bool:
        """Whether both passes are judged."""
        return self.step_plan is not None

    def use_threads(self, count: int) -> None:
        """Let the reference use so many threads from now on."""
        self._threads = count
        self._ask(messages.UseThreads(count=count), messages.ProblemDone)

    @contextlib.contextmanager
    def with_threads(self, count: int) -> Iterator[None]:
        """Let the reference use so many threads inside."""
        usual = self._threads
        self.use_threads(count)
        try:
            yield
        finally:
            self.use_threads(usual)

    def examine(self) -> None:
        """Run the reference on every open input set and judge it; every set keeps what the problem promises."""
        self._ask(messages.Examine(), messages.ProblemDone)
        if self.limits:
            self._examine_limits()

    def analysed(self, device: DeviceSheet) -> ProblemAnalysis:
        """The traced operator graph."""
        answer, _ = self._ask(messages.Analyse(device=device), messages.ProblemAnalysed)
        if answer.broken_off:
            self._end()
        return answer.analysis

    def keep_state(self) -> str | None:
        """Have each call find the model as it was built. What is said where calls change its parameters or buffers."""
        kept, _ = self._ask(messages.KeepState(names=None), messages.StateKept)
        self.changing = kept.names
        return kept.remark

    def profiled(self, device: DeviceSheet) -> ModelProfile:
        """Where the model's time goes, and its parts as problems."""
        return self._ask(messages.ProfileReference(device=device), messages.ReferenceProfiled)[0].profile

    def make_inputs(self, number: int, seed: int, layout: int = DENSE) -> list[Any]:
        """Arguments of a call: input set `number` (0 is `get_inputs`; negative numbers are held out), drawn under
        `seed`, and cotangents in a layout of theirs where gradients are asked for."""
        _, received = self._ask(messages.DrawInputs(number=number, seed=seed, layout=layout), messages.ProblemDone)
        return _list_in(received)

    def forward_arguments(self, arguments: Sequence[Any]) -> list[Any]:
        """Of a call's arguments, those of `forward`."""
        return list(arguments) if self.step_plan is None else self.step_plan.forward_arguments(arguments)

    def with_cotangents(self, arguments: Sequence[Any], layout: int = DENSE) -> list[Any]:
        """Arguments of a call from those of `forward`, with cotangents drawn for them."""
        if self.step_plan is None:
            return list(arguments)
        _, received = self._ask(
            messages.DrawCotangents(layout=layout), messages.ProblemDone, list(arguments), gives=True
        )
        return [*arguments, *_list_in(received)]

    def run(self, arguments: Sequence[Any], *, with_inputs: bool = False, use: GraphUse | None = None) -> Answer:
        """What the reference returns, and the gradients where they are asked for, with another `use` of a step's graph
        than the usual one; on request the arguments as they are then. Those that are given are left alone."""
        return self._run(arguments, messages.Way.USUAL, with_inputs=with_inputs, use=use)

    def run_first_pass(self, arguments: Sequence[Any]) -> Answer:
        """What a step's forward pass alone hands over. Of problems with a backward pass only."""
        return self._run(arguments, messages.Way.FORWARD)

    def run_double(
        self, arguments: Sequence[Any], *, with_inputs: bool = False, use: GraphUse | None = None
    ) -> list[torch.Tensor]:
        """What the reference returns in float64, which tensors that it makes itself have too where it does not say;
        nothing where it cannot be run so (a dtype written into the code). On request, the tensors among the arguments
        as the call leaves them instead."""
        asked = messages.RunReference(way=messages.Way.DOUBLE, with_inputs=with_inputs, use=use)
        ran, received = self._ask(asked, messages.ReferenceRan, list(arguments), gives=True)
        if ran.outputs is None:
            return []
        answer = _answer_in(ran, received, with_inputs=with_inputs)
        return list(answer.tensors if answer.inputs is None else answer.inputs)

    def takes_on_host(self, arguments: Sequence[Any]) -> bool:
        """Whether the model takes arguments on the CPU; where it runs on a GPU, an index out of range costs more."""
        return self._ask(messages.TryOnHost(), messages.Applies, list(arguments), gives=True)[0].applies

    def manners(self, arguments: Sequence[Any]) -> messages.Manners:
        """What a call does besides returning something."""
        return self._ask(messages.LearnManners(), messages.Manners, list(arguments), gives=True)[0]

    def state(self) -> list[tuple[str, torch.Tensor]]:
        """Parameters, then buffers, in order of registration."""
        _, received = self._ask(messages.ReadReferenceState(exact=False), messages.ProblemDone)
        return list(_state_in(received).items())

    def state_after(self, arguments: Sequence[Any], *, exact: bool = False) -> dict[str, torch.Tensor]:
        """The state that a call leaves in a copy of the model; that of a call in float64 where it is to be `exact`."""
        _, received = self._ask(
            messages.ReadReferenceState(exact=exact), messages.ProblemDone, list(arguments), gives=True
        )
        return _state_in(received)

    @contextlib.contextmanager
    def other_parameters(self) -> Iterator[bool]:
        """Inside, parameters and statistics that hold one value only, as before any training (ones, zeros), hold
        others; whether there are any. The model is as it was afterwards."""
        with self._variant(messages.ModelVariant.TRAINED) as (applies, _init_inputs):
            yield applies

    @contextlib.contextmanager
    def moved_parameters(self, seed: int) -> Iterator[bool]:
        """Inside, all parameters whose gradients are judged, or where none are that can have gradients, hold other
        values, as after a step of training: those that belong to `seed`. Whether there are any. The model is as it
        was afterwards."""
        with self._variant(messages.ModelVariant.MOVED, seed) as (applies, _init_inputs):
            yield applies

    @contextlib.contextmanager
    def ordinary_parameters(self, seed: int, *, signed: bool) -> Iterator[bool]:
        """The same with values as large as a trained model's, of both signs where they are `signed`."""
        with self._variant(messages.ModelVariant.ORDINARY, seed, signed=signed) as (applies, _init_inputs):
            yield applies

    @contextlib.contextmanager
    def wide_parameters(
        self, seed: int, variant: messages.ModelVariant, width: float, *, signed: bool, zeros: bool
    ) -> Iterator[bool]:
        """The same with values as `ModelVariant.SPREAD` or `GROWN` has them."""
        with self._variant(variant, seed, signed=signed, zeros=zeros, width=width) as (applies, _init_inputs):
            yield applies

    @contextlib.contextmanager
    def another_model(self, seed: int, part: messages.StatePart = messages.StatePart.ALL) -> Iterator[bool]:
        """Inside, the reference is one built under another seed, from the same arguments, whose parameters have moved
        besides, and so have the statistics of norms; or only a part of the model holds these values. Whether any are
        other ones than before."""
        with self._variant(messages.ModelVariant.ANOTHER, seed, part=part) as (applies, _init_inputs):
            yield applies

    @contextlib.contextmanager
    def moved_statistics(self, seed: int, *, in_other_mode: bool) -> Iterator[bool]:
        """Inside, statistics of norms hold other values, and the model may be in evaluation mode where it is built in
        training mode, and the other way round. Whether it is in training mode then."""
        with self._variant(messages.ModelVariant.STATISTICS, seed, in_other_mode=in_other_mode) as (is_training, _):
            yield is_training

    @contextlib.contextmanager
    def other_settings(self, number: int) -> Iterator[None]:
        """Inside, the reference is built with the init inputs of `INIT_SETS[number]`; its parameters may vary there."""
        usual = self.init_inputs
        with self._variant(messages.ModelVariant.SETTINGS, number) as (_applies, self.init_inputs):
            self.has_other_settings = True
            try:
                yield
            finally:
                self.init_inputs, self.has_other_settings = usual, False

    @property
    def is_varied(self) -> bool:
        """Whether another model stands in for the reference's."""
        return self._variants > 0

    @contextlib.contextmanager
    def without(self, name: str) -> Iterator[None]:
        """Inside, a parameter or buffer of the model is zero. Raises `Refused` where it has none of that name."""
        with self._variant(messages.ModelVariant.WITHOUT, name=name) as (applies, _init_inputs):
            if not applies:
                raise Refused(f"the model has no parameter `{name}`", "Register it.")
            yield

    def draw_weights_anew(self) -> None:
        """Build the model under another seed, from the same arguments."""
        self.init_seed, self.seed_is_out = secrets.randbits(SEED_BITS), False
        self._ask(messages.DrawWeights(seed=self.init_seed), messages.ProblemDone)

    def operators(self, arguments: Sequence[Any], *, traced: bool) -> Callable[[], float]:
        """What runs the reference's operators alone and says how many seconds they took; `traced` says whether the
        reference has a graph."""
        self._ask(messages.PrepareOperators(traced=traced), messages.ProblemDone, list(arguments), gives=True)
        return lambda: self._ask(messages.TimeOperators(), messages.OperatorsTimed)[0].seconds

    def build_in(
        self,
        session: RunnerSession,
        source: str | None = None,
        *,
        seed: int,
        copy_state: bool,
        threads: int,
        limit_s: float,
    ) -> bool:
        """Have a runner build the reference's model, or that of a candidate's source, from the same arguments; False
        when its parameters could not be matched with the reference's. Raises `RunnerFault`."""
        return session.load(
            self.problem.source if source is None else source,
            self.init_inputs,
            self.state(),
            seed=seed,
            copy_state=copy_state,
            threads=threads,
            limit_s=limit_s,
            step=self.step_plan,
        )

    def close(self) -> None:
        """End its process."""
        if self._connection is not None:
            self._end()

    def _run(
        self,
        arguments: Sequence[Any],
        way: messages.Way,
        *,
        with_inputs: bool = False,
        use: GraphUse | None = None,
    ) -> Answer:
        asked = messages.RunReference(way=way, with_inputs=with_inputs, use=use)
        answer, received = self._ask(asked, messages.ReferenceRan, list(arguments), gives=True)
        return _answer_in(answer, received, with_inputs=with_inputs)

    @contextlib.contextmanager
    def _variant(
        self,
        variant: messages.ModelVariant,
        number: int = 0,
        name: str | None = None,
        *,
        signed: bool = False,
        part: messages.StatePart = messages.StatePart.ALL,
        in_other_mode: bool = False,
        zeros: bool = False,
        width: float = 1.0,
    ) -> Iterator[tuple[bool, Any]]:
        asked = messages.BeginVariant(
            variant=variant,
            number=number,
            name=name,
            signed=signed,
            zeros=zeros,
            width=width,
            part=part,
            in_other_mode=in_other_mode,
        )
        began, received = self._ask(asked, messages.Applies)
        init_inputs = _decoded(received)
        self._variants += 1
        try:
            yield began.applies, init_inputs
        finally:
            self._variants -= 1
            if self._connection is not None:
                self._ask(messages.EndVariant(), messages.ProblemDone)

    def _examine_limits(self) -> None:
        """Raise `Refused` where an input set, held-out ones included, breaks a promise of the problem."""
        announced = self.forward_arguments(self.make_inputs(0, LIMITS_SEEDS[0]))
        for number in range(-self.held_out, len(self.set_names)):
            one, other = (self.forward_arguments(self.make_inputs(number, seed)) for seed in LIMITS_SEEDS)
            found = self.limits.contradiction(announced, one, other)
            if found is not None:
                name = self.set_names[number] if number >= 0 else f"held-out input set {-number}"
                remedy = "Have the input sets keep what CONSTRAINTS promises, or promise less."
                raise Refused(f"CONSTRAINTS and {name} disagree: {found}", remedy, _line_of_limits(self.problem))

    def _load(self) -> tuple[messages.ProblemLoaded, Any]:
        """Have a new process load the problem."""
        self._connection = self._processes.connect()
        asked = messages.LoadProblem(
            problem=self.problem,
            memory_bytes=self._memory_bytes,
            init_seed=self.init_seed,
            sample_seed=self._sample_seed,
            threads=self._threads,
        )
        loaded, received = self._ask(asked, messages.ProblemLoaded)
        return loaded, _decoded(received)

    def _ask(
        self, request: messages.ProblemRequest, expected: type[A], value: Any = None, *, gives: bool = False
    ) -> tuple[A, Received]:
        if self._connection is None:
            if self.is_varied:
                raise Refused(GONE, "Look at what native code does there.")
            self._load()
            self._ask(messages.KeepState(names=self.changing), messages.StateKept)
        connection = self._connection
        assert connection is not None
        try:
            answer = connection.ask(request, expected, value, gives=gives)
            if connection.give_back_large():
                connection.ask(messages.UseThreads(count=self._threads), messages.ProblemDone)
        except ProblemTalkError as talk:
            self._end()
            raise talk.refused from None
        except ProblemLostError as lost:
            raise self._explained(lost) from None
        return answer

    def _end(self) -> ExitStatus | None:
        """End the process; how it had ended by itself."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        return self._processes.end()

    def _explained(self, lost: ProblemLostError) -> Exception:
        """End what is left of a process; why the problem does not take what it was asked, or that it was killed."""
        status = self._end()
        what, line = ("the reference", None) if lost.step is None else (lost.step.what, lost.step.line)
        if status is None and not lost.hung:
            return Refused(WRONG.format("it closed the connection"), WRONG_REMEDY, line)
        found = refused_end(None if lost.hung else status, what, line)
        return found or InfrastructureError(f"the problem's process was killed while {what} ran")


def _tolerances(loaded: messages.ProblemLoaded) -> dict[str, Any]:
    try:
        return tolerances(loaded.tolerance)
    except (TypeError, ValueError) as error:
        raise Refused(f"TOLERANCE cannot be read: {error}", 'Write TOLERANCE = {"float32": (atol, rtol)}.') from None


def _limits(problem: Problem, names: tuple[str, ...]) -> Limits:
    """What the problem's text promises of the arguments. Raises `Refused`."""
    try:
        found, _ = constraints.of_source(problem.source)
        constraints.check_names(found, names)
    except constraints.ConstraintError as error:
        raise Refused(str(error), constraints.REMEDY, _line_of_limits(problem)) from None
    return Limits(constraints=found, names=names)


def _line_of_limits(problem: Problem) -> int | None:
    return constraints.line_of(parsed(problem.source))


def _decoded(received: Received) -> Any:
    """The value that was handed over. Raises `Refused` for one that is none."""
    try:
        check_structure(received.data, len(received.tensors))
        return decode(received.data, received.tensors)
    except (RuntimeError, TypeError, ValueError) as error:
        raise Refused(WRONG.format(error), WRONG_REMEDY) from None


def _list_in(received: Received) -> list[Any]:
    value = _decoded(received)
    if not isinstance(value, list):
        raise Refused(WRONG.format("arguments are no list"), WRONG_REMEDY)
    return value


def _state_in(received: Received) -> dict[str, torch.Tensor]:
    value = _decoded(received)
    if not isinstance(value, dict) or not all(isinstance(one, torch.Tensor) for one in value.values()):
        raise Refused(WRONG.format("a state is no dict of tensors"), WRONG_REMEDY)
    return value


def _answer_in(ran: messages.ReferenceRan, received: Received, *, with_inputs: bool = False) -> Answer:
    """What the reference returned. Raises `Refused`."""
    data, tensors = received.data, received.tensors
    pair = data.get("list") if isinstance(data, dict) else None
    count = -1 if ran.outputs is None else ran.outputs
    if not isinstance(pair, list) or len(pair) != 2 or not 0 <= count <= len(tensors):
        raise Refused(WRONG.format("outputs are not described"), WRONG_REMEDY)
    try:
        check_structure(pair[0], count)
        for tensor in tensors:
            TensorMeta.of(tensor).torch_dtype  # noqa: B018 - raises for dtypes that are not compared
    except (TypeError, ValueError) as error:
        raise Refused(WRONG.format(error), WRONG_REMEDY) from None
    outputs, inputs = list(tensors[:count]), list(tensors[count:])
    peak_bytes = max(0, ran.peak_bytes)
    return Answer(tensors=outputs, shape=pair[0], inputs=inputs if with_inputs else None, peak_bytes=peak_bytes)
