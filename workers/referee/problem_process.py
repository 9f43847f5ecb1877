"""The process that holds a problem and runs its code, for the referee, which never does.

It knows the reference's seeds and nothing of a candidate. The referee stops it between requests where the sandbox can.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any

import torch

from services.domain.codec import CodecError, from_data, to_data
from services.domain.errors import InfrastructureError
from workers.ipc.messages import MessageError
from workers.ipc.packed import Packed
from workers.ipc.placement import CudaTensorDevice, TensorDevice, keep_freed_memory
from workers.ipc.tensors import DataError, Shared, TensorMeta, decode, flatten, structure
from workers.ipc.wire import Channel, Message, WireClosedError
from workers.referee.boundary import problem_messages as messages
from workers.referee.boundary.worker_messages import StepBegun
from workers.referee.costs.operator_time import operators_of
from workers.referee.costs.time_limit import CpuTime
from workers.referee.errors import Refused
from workers.referee.problem.model_state import state_after
from workers.referee.problem.other_parameters import (
    another_model,
    moved_parameters,
    moved_statistics,
    ordinary_parameters,
    other_parameters,
    without,
)
from workers.referee.problem.reference_problem import ReferenceProblem
from workers.referee.problem.side_effects import learned_manners, takes_on_host
from workers.referee.problem.watchdog import Watchdog
from workers.referee.problem.wide_parameters import wide_parameters
from workers.referee.validation import analysed, examine, keep_state

IDLE_LIMIT_S = 86400.0
TRACE_S = 14.0
"""CPU seconds for tracing a problem; below the watchdog's limit, which would refuse it. One whose trace takes longer is
used without its graph."""
BROKEN = 4
"""Exit code after an answer where the GPU's context is lost: the next request finds a new process."""
STEPS: dict[type[messages.ProblemRequest], str] = {
    messages.LoadProblem: "the module",
    messages.DrawInputs: "get_inputs",
}
"""What a request runs of the problem, where it is not `Model.forward`."""
NOTHING = object()
"""Is handed over with an answer that has no values."""
Said = tuple[messages.ProblemAnswer, Any]


class ProblemProcess:
    """Serves one referee."""

    def __init__(self, channel: Channel, place: TensorDevice | None = None) -> None:
        self._channel = channel
        self._place = place or TensorDevice()
        self._place.prepare()
        self._watchdog = Watchdog(channel)
        self._block: Shared | None = None
        self._loaded: ReferenceProblem | None = None
        self._operators: Callable[[], float] | None = None
        self._variants: list[contextlib.ExitStack] = []
        self._acts: dict[type[messages.ProblemRequest], Callable[..., Said]] = {
            messages.LoadProblem: self._load,
            messages.UseThreads: self._use_threads,
            messages.Examine: self._examine,
            messages.Analyse: self._analyse,
            messages.KeepState: self._keep_state,
            messages.DrawInputs: self._draw_inputs,
            messages.DrawCotangents: self._draw_cotangents,
            messages.RunReference: self._run,
            messages.TryOnHost: self._try_on_host,
            messages.LearnManners: self._learn_manners,
            messages.ReadReferenceState: self._read_state,
            messages.BeginVariant: self._begin_variant,
            messages.EndVariant: self._end_variant,
            messages.DrawWeights: self._draw_weights,
            messages.PrepareOperators: self._prepare_operators,
            messages.TimeOperators: self._time_operators,
            messages.ProfileReference: self._profile,
        }

    def run(self) -> None:
        """Answer until the referee goes away."""
        with contextlib.suppress(WireClosedError):
            while True:
                self._serve(self._channel.receive(timeout_s=IDLE_LIMIT_S))
        self._let_go()

    def _serve(self, message: Message) -> None:
        self._adopt(message)
        answer, value = self._answer(message)
        broken = isinstance(answer, messages.ProblemRefused | messages.ProblemFailed) and self._is_broken()
        try:
            self._say(answer, value)
        except DataError as error:
            remedy = "Convert it to a supported one."
            self._say(messages.ProblemRefused(reason=f"Model: {error}", remedy=remedy, line=None), NOTHING)
        if broken:
            os._exit(BROKEN)

    def _answer(self, message: Message) -> Said:
        try:
            request = messages.REQUESTS.decode(message.body)
            given = [] if "values" not in message.body else [self._given(message)]
            path = request.problem.path if isinstance(request, messages.LoadProblem) else self._problem.problem.path
            with self._watchdog.watching(path, STEPS.get(type(request), "Model.forward")):
                return self._acts[type(request)](request, *given)
        except Refused as refusal:
            return messages.ProblemRefused(reason=refusal.reason, remedy=refusal.remedy, line=refusal.line), NOTHING
        except (InfrastructureError, MessageError) as error:
            return messages.ProblemFailed(reason=str(error)), NOTHING
        except Exception as error:  # noqa: BLE001 - reported to the referee, which continues
            traceback.print_exc(file=sys.stderr)
            reason = f"the problem's process failed: {type(error).__name__}: {error}"
            return messages.ProblemFailed(reason=reason[:1000]), NOTHING

    @property
    def _problem(self) -> ReferenceProblem:
        if self._loaded is None:
            raise InfrastructureError("the problem's process was asked before it had a problem")
        return self._loaded

    def _progress(self, what: str, line: int | None) -> None:
        self._watchdog.restart(what)
        self._channel.send(messages.ANSWERS.encode(StepBegun(what=what, line=line)))

    def _load(self, asked: messages.LoadProblem) -> Said:
        torch.set_num_threads(asked.threads)
        self._progress("the module", 1)
        problem = ReferenceProblem(
            asked.problem,
            self._place,
            memory_bytes=asked.memory_bytes,
            init_seed=asked.init_seed,
            sample_seed=asked.sample_seed,
        )
        torch.set_num_threads(asked.threads)  # whatever the module has set
        self._loaded = problem
        loaded = messages.ProblemLoaded(
            set_names=problem.set_names,
            held_out=len(problem.held_out),
            init_sets=len(problem.init_sets),
            notes=problem.notes,
            objective=problem.objective,
            tolerance=problem.tolerance,
            library=tuple(sorted(problem.library)),
            step=problem.step_plan,
            gradient_names=problem.gradient_names,
            forward_line=problem.line_of("Model.forward"),
            argument_names=problem.argument_names,
            defaults=problem.defaults,
        )
        return loaded, problem.init_inputs

    def _use_threads(self, asked: messages.UseThreads) -> Said:
        torch.set_num_threads(asked.count)
        return messages.ProblemDone(), NOTHING

    def _examine(self, _asked: messages.Examine) -> Said:
        examine(self._problem, self._progress)
        return messages.ProblemDone(), NOTHING

    def _analyse(self, asked: messages.Analyse) -> Said:
        limit = CpuTime(TRACE_S)
        analysis = analysed(self._problem, asked.device, self._progress, limit=limit)
        return messages.ProblemAnalysed(analysis=analysis, broken_off=limit.is_used_up), NOTHING

    def _keep_state(self, asked: messages.KeepState) -> Said:
        if asked.names is None:
            remark = keep_state(self._problem, self._progress)
            return messages.StateKept(names=self._problem.changing, remark=remark), NOTHING
        self._problem.keep(asked.names)
        return messages.StateKept(names=asked.names, remark=None), NOTHING

    def _draw_inputs(self, asked: messages.DrawInputs) -> Said:
        return messages.ProblemDone(), self._problem.make_inputs(asked.number, asked.seed, asked.layout)

    def _draw_cotangents(self, asked: messages.DrawCotangents, arguments: list[Any]) -> Said:
        return messages.ProblemDone(), self._problem.with_cotangents(arguments, asked.layout)[len(arguments) :]

    def _run(self, asked: messages.RunReference, arguments: list[Any]) -> Said:
        self._place.forget_peak()
        match asked.way:
            case messages.Way.USUAL:
                with torch.sparse.check_sparse_tensor_invariants(True):  # type: ignore[no-untyped-call]
                    outputs = self._problem.run(arguments, asked.use)
            case messages.Way.FORWARD:
                outputs = self._problem.run_first_pass(arguments)
            case messages.Way.DOUBLE:
                found = self._problem.run_double_in_place(arguments, asked.use)
                if found is None:
                    return messages.ReferenceRan(outputs=None, peak_bytes=0), NOTHING
                outputs, arguments = found
        ran = messages.ReferenceRan(outputs=len(flatten(outputs)), peak_bytes=self._place.peak_bytes())
        return ran, [outputs, arguments if asked.with_inputs else None]

    def _try_on_host(self, _asked: messages.TryOnHost, arguments: list[Any]) -> Said:
        return messages.Applies(applies=takes_on_host(self._problem, arguments)), NOTHING

    def _learn_manners(self, _asked: messages.LearnManners, arguments: list[Any]) -> Said:
        return learned_manners(self._problem, arguments), NOTHING

    def _read_state(self, asked: messages.ReadReferenceState, arguments: list[Any] | None = None) -> Said:
        if arguments is None:
            return messages.ProblemDone(), dict(self._problem.state())
        return messages.ProblemDone(), state_after(self._problem, arguments, exact=asked.exact)

    def _begin_variant(self, asked: messages.BeginVariant) -> Said:
        problem, variant = self._problem, contextlib.ExitStack()
        match asked.variant:
            case messages.ModelVariant.TRAINED:
                applies = variant.enter_context(other_parameters(problem))
            case messages.ModelVariant.MOVED:
                applies = variant.enter_context(moved_parameters(problem, asked.number))
            case messages.ModelVariant.ORDINARY:
                applies = variant.enter_context(ordinary_parameters(problem, asked.number, signed=asked.signed))
            case messages.ModelVariant.SPREAD | messages.ModelVariant.GROWN:
                signed, zeros = asked.signed, asked.zeros
                wide = wide_parameters(problem, asked.number, asked.variant, asked.width, signed=signed, zeros=zeros)
                applies = variant.enter_context(wide)
            case messages.ModelVariant.SETTINGS:
                variant.enter_context(problem.other_settings(asked.number))
                applies = True
            case messages.ModelVariant.ANOTHER:
                applies = variant.enter_context(another_model(problem, asked.number, asked.part))
            case messages.ModelVariant.STATISTICS:
                moved = moved_statistics(problem, asked.number, in_other_mode=asked.in_other_mode)
                applies = variant.enter_context(moved)
            case messages.ModelVariant.WITHOUT:
                applies = variant.enter_context(without(problem, asked.name or ""))
        self._variants.append(variant)
        return messages.Applies(applies=applies), problem.init_inputs

    def _end_variant(self, _asked: messages.EndVariant) -> Said:
        if self._variants:
            self._variants.pop().close()
        return messages.ProblemDone(), NOTHING

    def _draw_weights(self, asked: messages.DrawWeights) -> Said:
        self._problem.draw_weights_anew(asked.seed)
        return messages.ProblemDone(), NOTHING

    def _prepare_operators(self, asked: messages.PrepareOperators, arguments: list[Any]) -> Said:
        self._operators = operators_of(self._problem, arguments, traced=asked.traced)
        return messages.ProblemDone(), NOTHING

    def _time_operators(self, _asked: messages.TimeOperators) -> Said:
        if self._operators is None:
            raise InfrastructureError("the problem's process was asked to time operators before it had some")
        return messages.OperatorsTimed(seconds=self._operators()), NOTHING

    def _profile(self, asked: messages.ProfileReference) -> Said:
        from workers.referee.whole_model.profile import profiled

        threads = torch.get_num_threads()
        torch.set_num_threads(self._place.host_threads(asked.device.units))
        try:
            return messages.ReferenceProfiled(profile=profiled(self._problem, asked.device, self._progress)), NOTHING
        finally:
            torch.set_num_threads(threads)

    def _adopt(self, message: Message) -> None:
        """Take the block that comes with a message, where one does."""
        try:
            given = from_data(messages.BlockGiven, message.body["block"]) if "block" in message.body else None
        except CodecError as error:
            raise MessageError(f"a block is described wrongly: {error}") from None
        if given is None:
            message.close()
            return
        self._let_go()
        meta = TensorMeta(dtype="uint8", shape=(given.size,))
        self._block = self._place.attach(message.descriptors, given.handle, [meta]) if given.size else None

    def _let_go(self) -> None:
        if self._block is not None:
            self._block.close()
            self._block = None

    def _given(self, message: Message) -> Any:
        try:
            values = from_data(messages.HandedValues, message.body["values"])
            return decode(values.data, values.packed.read(self._raw()))
        except (CodecError, DataError) as error:
            raise MessageError(f"values are described wrongly: {error}") from None

    def _say(self, answer: messages.ProblemAnswer, value: Any) -> None:
        body = messages.ANSWERS.encode(answer)
        if value is not NOTHING:
            tensors: list[torch.Tensor] = []
            data = structure(value, tensors)
            packed = Packed.of(tensors)
            if packed.size > self._raw().numel():
                self._channel.send(messages.ANSWERS.encode(messages.RoomWanted(size=packed.size)))
                self._adopt(self._channel.receive(timeout_s=IDLE_LIMIT_S))
            packed.write(self._raw(), tensors)
            body["values"] = to_data(messages.HandedValues(data=data, packed=packed))
        self._place.synchronize()
        self._place.spare()
        self._channel.send(body)

    def _raw(self) -> torch.Tensor:
        return torch.empty(0, dtype=torch.uint8) if self._block is None else self._block.raw

    def _is_broken(self) -> bool:
        """Whether the device's context is lost, as it is after an access out of bounds."""
        try:
            self._place.synchronize()
        except RuntimeError:
            return True
        return False


def serve(connection: socket.socket, place: TensorDevice | None = None) -> None:
    """Entry point of the problem's process."""
    keep_freed_memory()
    ProblemProcess(Channel(connection), place).run()
    os._exit(0)


def serve_on_gpu(connection: socket.socket) -> None:
    """The same on the GPU."""
    serve(connection, CudaTensorDevice())
