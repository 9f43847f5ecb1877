"""The runner: one candidate, driven by the referee over a socket. Nothing here is trusted by anybody.

It is told what to do by small JSON messages, each with a token that the answer must repeat; it never unpickles and
never sees problem source, input seeds or expected outputs. On the CPU `call` runs the model, says that it has returned,
copies what it returned into the referee's buffers, and describes it: all within one request, after which the process is
stopped. On a GPU the copy is made in the order of the stream, and `fetch` describes it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import os
import random
import socket
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import torch

from workers import extensions
from workers.ipc.placement import CudaTensorDevice, TensorDevice
from workers.ipc.tensors import (
    Block,
    Shared,
    TensorMeta,
    decode,
    descriptors_of,
    flatten,
    mapped,
    structure,
)
from workers.ipc.wire import Channel, Message, WireClosedError
from workers.runner import protocol
from workers.runner.answers import (
    ANSWERS,
    ENDED_FORWARD,
    MAX_TEXT,
    RETURNED,
    Acknowledged,
    BatchCalled,
    BatchTimed,
    CalledRepeatedly,
    GraphCaptured,
    HandedOver,
    ModelCalled,
    ModelLoaded,
    OutputsKept,
    RunnerAnswer,
    RunnerError,
    StateRead,
)
from workers.runner.batches import Batch, run_batch
from workers.runner.manners import OwnMemory, exchange_variables, surroundings
from workers.runner.model import (
    assign_state,
    by_keyword,
    construct,
    copied,
    copy_state,
    drawn_name,
    import_source,
    matching,
    read_state,
    state_of,
    take_place,
    turned_over,
)
from workers.runner.observation import observe_guarded
from workers.runner.outputs import describe_output, keeps_outputs, overwrite, shared_with, write
from workers.runner.process_state import (
    FREE_TO_BUILD,
    FREE_TO_REFUSE,
    changed_since,
    own_bytes,
    process_state,
    seeds_of_others,
)
from workers.runner.protocol import Manner, ModelOrigin, ThreadTeam
from workers.runner.step import DENSE, ModelStep, StepError, StepPlan, laid_out, matched, shortened
from workers.runner.streams import captured, run_held_up
from workers.runner.teams import called_by, in_new_thread

IDLE_LIMIT_S = 3600.0
FORWARD_OF = "forward of "
"""What a step's forward pass alone is called, before the model's own name."""
CROWD_S = 0.1
"""How long more models are built and called, in seconds; the last one may take longer."""
OTHER = "other"
"""What a second instance of the model's class is called."""
TEAM_SHARE = 0.25
"""Of observed calls: those around which the modes of all threads are read."""
OTHER_VARIABLES = 0.5
"""Share of the candidates' processes that begin without the variables that a runner sets, and with others."""
NO_MEMORY = ("can't allocate memory", "CUDA error: out of memory", "CUDA out of memory")
_now = time.perf_counter
Act = Callable[[Any, Message], RunnerAnswer]
"""What is done for one kind of request."""


class RunnerServer:
    """Serves one connection."""

    module_name = ""
    """What the model's module is called; a name is drawn where that is empty."""
    class_name = "ModelNew"
    loads_built = True
    """Whether `load_inline` loads what the compile stage has built."""
    _leaving = False

    def __init__(self, channel: Channel, place: TensorDevice | None = None) -> None:
        self._channel = channel
        self._module_name = self.module_name or drawn_name()
        self._place = place or TensorDevice()
        self._place.prepare()
        self._operations = self._acts()
        self._models: dict[str, Callable[..., Any]] = {}
        self._slots: dict[int, tuple[Any, Shared, Shared]] = {}
        self._model = torch.nn.Module()
        self._build: Callable[[int, Any], torch.nn.Module] = lambda _seed, _init: torch.nn.Module()
        """Builds a model of the first one's class under a seed, from its arguments or from others."""
        self._others: list[torch.nn.Module] = []
        """Models besides the first."""
        self._plan: StepPlan | None = None
        self._state: list[torch.Tensor] = []
        """The model's parameters and buffers."""
        self._names: dict[str, str] = {}
        """The model's own names of the reference's parameters and buffers."""
        self._states: dict[int, tuple[tuple[str, ...], list[torch.Tensor]]] = {}
        """Values for the model's parameters and buffers, with the reference's names."""
        self._changed: tuple[str, ...] = ()
        """What the module's import and the latest model's building left otherwise than they found it."""
        self._built: dict[str, object] | None = None
        """What of the process the latest model's building left; None where the model is no candidate's."""
        self._token: Any = None
        """Of the request that is being answered."""
        self._slot = 0
        """Where the arguments of the call lie that is being made."""
        self._waited_s = 0.0
        self._overwrites = False
        """Whether the outputs of the last call are written over when they are handed over."""
        self._records = False
        """Whether gradients were recorded in the last call, or asked of its arguments."""
        self._outputs: Any = None
        self._batch: Batch | None = None
        self._inputs: tuple[torch.Tensor, ...] = ()
        self._out: Shared | None = None
        self._held: Any = None
        """What an early call returned, held as a caller would who needs it later."""
        self._written = False
        """Whether the outputs of the last call lie in `_out` already."""

    def run(self) -> None:
        """Answer until the referee goes away, or until asked to quit."""
        while not self._leaving:
            try:
                message = self._channel.receive(timeout_s=IDLE_LIMIT_S)
            except WireClosedError:
                return
            self._token = message.body.get("token")
            self._channel.send({"token": self._token, **ANSWERS.encode(self._answer(message))})

    def _answer(self, message: Message) -> RunnerAnswer:
        request: protocol.RunnerRequest | None = None
        with torch.no_grad():
            try:
                request = protocol.REQUESTS.decode(message.body)
                return self._operations[type(request)](request, message)
            except BaseException as error:  # noqa: BLE001 - whatever a candidate raises is reported, SystemExit too
                changed = self._changed_by(request)
                return _described(error, self._module_name, broken=self._is_broken(), changed=changed)

    def _changed_by(self, request: protocol.RunnerRequest | None) -> tuple[str, ...]:
        """What a call that raised an exception left otherwise in the process than the latest model's building."""
        if self._built is None or not isinstance(request, protocol.RUNNING):
            return ()
        return changed_since(self._built, free=FREE_TO_REFUSE)

    def _acts(self) -> dict[type[protocol.RunnerRequest], Act]:
        """What is done for each request. A method, so that kinds of runners can add theirs."""
        return {
            protocol.RoundTrip: lambda _request, _message: Acknowledged(),
            protocol.LoadModel: self._load,
            protocol.AttachSlot: self._attach,
            protocol.CallModel: self._call,
            protocol.ChangeState: self._change_state,
            protocol.AddInstance: self._add_instance,
            protocol.CrowdIn: self._crowd_in,
            protocol.DropInstance: self._drop_instance,
            protocol.InterleaveSteps: self._interleave,
            protocol.HoldState: self._hold_state,
            protocol.PutState: self._put_state,
            protocol.DropStates: self._drop_states,
            protocol.ReadState: self._read_state,
            protocol.AskWhatIsKept: self._tell_what_is_kept,
            protocol.CallRepeatedly: self._repeat,
            protocol.HandOverHeld: self._hand_over_held,
            protocol.TimeBatch: self._time,
            protocol.CallLate: self._call_late,
            protocol.CaptureGraph: self._capture,
            protocol.ForgetSlots: self._forget,
            protocol.DropOutputs: self._drop,
            protocol.FetchOutputs: self._fetch,
        }

    def _is_broken(self) -> bool:
        """Whether the device's context is lost, as it is after an access out of bounds."""
        try:
            self._place.synchronize()
        except RuntimeError:
            return True
        return False

    def _load(self, asked: protocol.LoadModel, message: Message) -> ModelLoaded:
        torch.set_num_threads(asked.threads)
        init = self._block(message, asked.handles, 0, asked.init_metas)
        state = self._block(message, asked.handles, 1, asked.state_metas)
        if self.loads_built and extensions.wanted_by(asked.source):
            extensions.adopt_load_inline()
        is_candidate = not self.module_name  # built with gradients, as a caller has them
        if is_candidate and random.SystemRandom().random() < OTHER_VARIABLES:
            exchange_variables(asked.threads)
        with torch.set_grad_enabled(is_candidate):
            before = process_state()
            imported = functools.partial(import_source, asked.source)
            module, seeded = seeds_of_others(
                lambda: imported(self._module_name), lambda: imported(drawn_name()), asks=is_candidate
            )
            self._changed = (*changed_since(before, free=FREE_TO_BUILD), *seeded)
        given = [tensor.clone() for tensor in init.tensors]

        def build(seed: int, init: Any = None) -> torch.nn.Module:
            def constructed() -> torch.nn.Module:
                init_inputs = decode(asked.init, [tensor.clone() for tensor in given]) if init is None else init
                return construct(module, self.class_name, init_inputs, seed)

            torch.manual_seed(seed)
            first = self._built is None  # further models are many, and a team takes its time where others work too
            with torch.set_grad_enabled(is_candidate), self._place.device:
                before = process_state(team=first)
                model, seeded = seeds_of_others(constructed, constructed, asks=is_candidate)
                self._changed += (*changed_since(before, free=FREE_TO_BUILD), *seeded)
            torch.set_num_threads(asked.threads)  # whatever the module has set
            self._built = {**(self._built or {}), **process_state(team=first)} if is_candidate else None
            return model.to(self._place.device)

        self._build, self._plan = build, asked.step
        model = build(asked.seed)
        names = copy_state(model, asked.state_names, state.tensors) if asked.copy_state else {}
        missing = () if names is not None else matching(model, asked.state_names, state.tensors)[1]
        init.close()
        state.close()  # on a GPU this waits for the copies
        self._model, self._state = model, [tensor for _, tensor in state_of(model)]
        self._names = names or {}
        self._add("plain", model if asked.step is None else self._step(model, asked.step, names))
        return ModelLoaded(matched=names is not None, missing=missing, changed=self._changed)

    def _change_state(self, asked: protocol.ChangeState, message: Message) -> ModelLoaded:
        state = self._block(message, asked.handles, 0, asked.state_metas)
        names = copy_state(self._model, asked.state_names, state.tensors, only_others=True)
        state.close()
        self._names = names or {}
        return ModelLoaded(matched=names is not None)

    def _add_instance(self, asked: protocol.AddInstance, message: Message) -> ModelLoaded:
        state = self._block(message, asked.handles, 0, asked.state_metas)
        init = None
        if asked.init is not None:
            block = self._block(message, asked.handles, 1, asked.init_metas)
            init = decode(asked.init, [tensor.clone() for tensor in block.tensors])
            block.close()
        self._changed = ()
        if asked.origin is ModelOrigin.COPIED:
            self._models.pop(OTHER, None)
            self._models.pop(f"{FORWARD_OF}{OTHER}", None)
            model = copied(self._others)
        else:
            model = self._others[-1] if asked.origin is ModelOrigin.ASSIGNED else self._build(asked.seed, init)
        if asked.origin is ModelOrigin.REUSED:
            take_place(model, self._others.pop())
        give = assign_state if asked.origin is ModelOrigin.ASSIGNED else copy_state
        names = give(model, asked.state_names, state.tensors)
        state.close()
        self._others.append(model)
        self._add(OTHER, model if self._plan is None else self._step(model, self._plan, names))
        return ModelLoaded(matched=names is not None, changed=self._changed)

    def _crowd_in(self, asked: protocol.CrowdIn, _message: Message) -> Acknowledged:
        names, values = zip(*state_of(self._others[-1]), strict=True)
        arguments = self._enter(asked.slot)
        if self._plan is not None:
            arguments = self._plan.forward_arguments(arguments)
        ends = _now() + CROWD_S
        for index in range(asked.count):
            if _now() > ends:
                break
            model = self._build(asked.seed + index, None)
            copy_state(model, names, values)
            self._others.append(model)
            model(*arguments)
        self._place.synchronize()
        return Acknowledged()

    def _drop_instance(self, _asked: protocol.DropInstance, _message: Message) -> Acknowledged:
        self._models.pop(OTHER, None)
        self._models.pop(f"{FORWARD_OF}{OTHER}", None)
        self._others.clear()
        return Acknowledged()

    def _interleave(self, asked: protocol.InterleaveSteps, _message: Message) -> BatchCalled:
        model: Any = self._models["plain"]
        slots = [self._slots[number] for number in asked.slots]
        first, second, *again = asked.slots
        numbers = [first, second, *[second] * asked.more]
        passes = [model.begin(self._enter(number)) for number in numbers]
        walks = [*enumerate(numbers), *((0, number) for number in again)]
        ended = [model.finish(*passes[one], self._slots[number][0], retain=True) for one, number in walks]
        outcomes, calls = [*ended[:2], *ended[len(numbers) :]], list[HandedOver]()
        for number, outcome in zip(asked.slots, outcomes, strict=True):
            self._enter(number)
            self._outputs, self._written = outcome, False
            calls.append(self._hand_over())
        self._place.synchronize()
        self._batch = Batch(outputs=outcomes, seconds=[], slots=slots)
        return BatchCalled(calls=tuple(calls))

    def _hold_state(self, asked: protocol.HoldState, message: Message) -> Acknowledged:
        state = self._block(message, asked.handles, 0, asked.state_metas)
        self._states[asked.number] = asked.state_names, [tensor.clone() for tensor in state.tensors]
        state.close()
        return Acknowledged()

    def _put_state(self, asked: protocol.PutState, _message: Message) -> Acknowledged:
        self._put(asked.number)
        self._place.synchronize()
        return Acknowledged()

    def _put(self, number: int) -> None:
        copy_state(self._model, *self._states[number])

    def _drop_states(self, _asked: protocol.DropStates, _message: Message) -> Acknowledged:
        self._states.clear()
        return Acknowledged()

    def _read_state(self, asked: protocol.ReadState, message: Message) -> StateRead:
        left = self._block(message, asked.handles, 0, asked.state_metas)
        found = read_state(self._model, self._names, asked.state_names, left.tensors)
        left.close()
        return StateRead(names=found)

    def _step(self, model: torch.nn.Module, plan: StepPlan, names: dict[str, str] | None) -> ModelStep:
        """The model's forward and backward. Raises `StepError` where a parameter has no counterpart."""
        if names is None and plan.parameters:
            raise StepError(
                "the parameters and buffers of ModelNew do not match those of Model, whose gradients are judged: "
                "register the same ones, by name and shape"
            )
        step = ModelStep(model, matched(model, plan, names or {}))
        step.before_backward = None if self._place.is_gpu else self._wait_for_cotangents
        return step

    def _wait_for_cotangents(self, result: Any) -> None:
        """Hand over what the forward returned, say that it has ended, and wait until the referee has put the cotangents
        in."""
        started = _now()
        if self._out is not None:
            write(flatten(result), self._out.tensors[0])
        self._channel.send({"token": self._token, ENDED_FORWARD: self._slot})
        self._channel.receive(timeout_s=IDLE_LIMIT_S).close()
        self._waited_s += _now() - started

    def _add(self, name: str, model: Callable[..., Any]) -> None:
        """Have a model under a name, and a step's forward pass alone next to it."""
        self._models[name] = model
        if isinstance(model, ModelStep):
            self._models[f"{FORWARD_OF}{name}"] = model.first_pass

    def _attach(self, asked: protocol.AttachSlot, message: Message) -> Acknowledged:
        inputs = self._block(message, asked.handles, 0, asked.metas)
        if asked.outputs_of is None:
            out = self._block(message, asked.handles, 1, [TensorMeta(dtype="uint8", shape=(asked.output_bytes,))])
        else:
            out = self._slots[asked.outputs_of][2]
        arguments = decode(asked.arguments, inputs.tensors)
        if asked.slot in self._slots:
            self._let_go()
            self._give_back(asked.slot)
        self._slots[asked.slot] = (arguments, inputs, out)
        return Acknowledged()

    def _enter(self, slot: int) -> Any:
        """The arguments of a slot, whose inputs and memory for outputs count from here on."""
        arguments, inputs, self._out = self._slots[slot]
        self._inputs, self._slot = inputs.tensors, slot
        return arguments

    def _call(self, asked: protocol.CallModel, _message: Message) -> ModelCalled:
        arguments, self._batch = self._enter(asked.slot), None
        model, self._overwrites = self._models[asked.model], asked.form.overwrite
        self._records = bool(asked.form.manner & (Manner.GRADIENTS | Manner.REQUIRED))
        if asked.form.use is not None and isinstance(model, ModelStep):
            model = functools.partial(model.used, asked.form.use)
        if asked.form.names:
            model = by_keyword(model, asked.form.names)
        with turned_over(model) if asked.form.in_other_mode else contextlib.nullcontext():
            return self._called(asked, model, arguments)

    def _called(self, asked: protocol.CallModel, model: Callable[..., Any], arguments: Any) -> ModelCalled:
        form = asked.form
        if asked.observe:
            with surroundings(form.manner):
                before = process_state(team=random.SystemRandom().random() < TEAM_SHARE)
                seen = observe_guarded(model, arguments, self._place.synchronize)
                changed = changed_since(before)
            self._outputs, handed = seen.result, None
            if self._place.is_gpu:
                self._finish_call()
            else:
                handed = self._hand_over()
            outside = seen.written_outside
            return ModelCalled(operators=seen.elements, handed=handed, written_outside=outside, changed=changed)
        if form.layout != DENSE:
            arguments = self._laid_out(arguments, form.layout)
        own = self._own_memory(form.manner, arguments)
        arguments = arguments if own is None else own.arguments
        inputs = self._slots[asked.slot][1]
        guard = inputs.read_only() if form.read_only and isinstance(inputs, Block) else contextlib.nullcontext()
        with surroundings(form.manner), guard:
            started, self._waited_s = _now(), 0.0
            usual = form.team is ThreadTeam.USUAL
            self._outputs = model(*arguments) if usual else called_by(form.team, model, arguments)
        if own is not None:
            own.write_back()
        if asked.hold:
            self._held = mapped(self._outputs, torch.Tensor.detach)  # nothing else that the call returned lives on
        if not self._place.is_gpu:
            seconds = _now() - started - self._waited_s
            if asked.at_once and self._out is not None:
                self._written = write(flatten(self._outputs), self._out.tensors[0])
            self._channel.send({"token": self._token, **RETURNED})
            return ModelCalled(seconds=seconds, handed=self._hand_over())
        self._finish_call()
        return ModelCalled(seconds=_now() - started)

    def _tell_what_is_kept(self, asked: protocol.AskWhatIsKept, _message: Message) -> OutputsKept:
        arguments = self._enter(asked.slot)
        return OutputsKept(kept=keeps_outputs(self._models["plain"], arguments, (*self._inputs, *self._state)))

    def _laid_out(self, arguments: Sequence[Any], layout: int) -> list[Any]:
        """The arguments in another layout, but for cotangents, which are not in yet."""
        count = len(arguments if self._plan is None else self._plan.forward_arguments(arguments))
        return [*mapped(list(arguments[:count]), lambda one: laid_out(one, layout)), *arguments[count:]]

    def _own_memory(self, manner: Manner, arguments: Sequence[Any]) -> OwnMemory | None:
        """Copies of the arguments, but for cotangents, which are not in yet; None where none are asked for."""
        if Manner.OWN_MEMORY not in manner:
            return None
        count = len(arguments if self._plan is None else self._plan.forward_arguments(arguments))
        own = OwnMemory(arguments[:count], require_gradients=Manner.REQUIRED in manner)
        own.arguments += arguments[count:]
        self._inputs = tuple(flatten(own.arguments))
        return own

    def _repeat(self, asked: protocol.CallRepeatedly, _message: Message) -> CalledRepeatedly:
        arguments = self._enter(asked.slot)
        given, step = arguments, self._models["plain"]
        model: Callable[..., Any] = self._model
        if isinstance(step, ModelStep):
            whole = ModelStep(step.model, step.plan)
            model = (whole.with_ones if asked.axes else whole) if asked.with_backward else model
            is_complete = asked.with_backward and not asked.axes  # cotangents are of the slot's shapes only
            given = arguments if is_complete else step.plan.forward_arguments(arguments)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # calls are small: on a busy machine, a team of threads costs a hundred times as much
        for number in range(asked.count):
            is_copied = bool(asked.axes) or asked.anew
            call = shortened(given, asked.axes, asked.least + number) if is_copied else given
            with contextlib.suppress(Exception):
                in_new_thread(model, call, 1) if number < asked.callers else model(*call)
        torch.set_num_threads(threads)
        if asked.collect:
            gc.collect()
        with contextlib.suppress(OSError, AttributeError):  # free memory within the heap counts as given back
            ctypes.CDLL(None).malloc_trim(0)
        return CalledRepeatedly(own_bytes=own_bytes())

    def _hand_over_held(self, asked: protocol.HandOverHeld, _message: Message) -> HandedOver:
        self._enter(asked.slot)
        self._outputs, self._held, self._written = self._held, None, False
        answer = self._hand_over()
        self._place.synchronize()
        return answer

    def _hand_over(self) -> HandedOver:
        """Copy the outputs of the last call into the referee's buffers, and describe them."""
        outputs, self._outputs = self._outputs, None
        items: list[torch.Tensor] = []
        nesting = structure(outputs, items)
        written = self._written or (self._out is not None and write(items, self._out.tensors[0]))
        self._written = False
        described = tuple(
            describe_output(
                item,
                self._inputs,
                self._place.device,
                shared_with(item, items[:index], self._state),
                records=self._records,
            )
            for index, item in enumerate(items)
        )
        if self._overwrites and written:
            overwrite(items, described)
        self._overwrites, self._records = False, False
        return HandedOver(outputs=described, structure=nesting, written=written)

    def _finish_call(self) -> None:
        """On a GPU, copy the outputs as their next user would, on the current stream, and wait for the device.

        Work on another stream that was not joined is not in the copy."""
        if self._place.is_gpu and self._out is not None:
            self._written = write(flatten(self._outputs), self._out.tensors[0])
        self._place.synchronize()

    def _time(self, asked: protocol.TimeBatch, _message: Message) -> BatchTimed | BatchCalled:
        """One call for each slot, in turn. On a GPU timed by events, with the cache flushed before and a wait after
        each; on the CPU each call's outputs go to the slot's own memory at once."""
        slots = [self._slots[number] for number in asked.slots]
        model = self._models[asked.model]
        self._outputs, self._batch = None, None
        if not self._place.is_gpu:
            held: list[Any] = []
            states = asked.states or (None,) * len(slots)
            calls = tuple(
                self._call_in_batch(model, number, held, state)
                for number, state in zip(asked.slots, states, strict=True)
            )
            self._batch = Batch(outputs=held, seconds=[], slots=slots)
            return BatchCalled(calls=calls)
        before = [lambda number=number: self._put(number) for number in asked.states]
        self._batch = run_batch(model, [slot[0] for slot in slots], self._place.synchronize, before)
        self._batch.slots = slots
        return BatchTimed(each=tuple(self._batch.seconds), late=self._batch.late)

    def _call_in_batch(self, model: Callable[..., Any], number: int, held: list[Any], state: int | None) -> HandedOver:
        """One call, whose outputs are handed over at once and held to the batch's end."""
        if state is not None:
            self._put(state)
        self._outputs = model(*self._enter(number))
        held.append(self._outputs)
        return self._hand_over()

    def _call_late(self, asked: protocol.CallLate, _message: Message) -> Acknowledged:
        source = self._slots[asked.source][1]
        arguments, self._outputs, self._batch = self._enter(asked.slot), None, None
        pairs = list(zip(self._inputs, source.tensors, strict=True))
        self._place.synchronize()
        self._outputs = run_held_up(self._models["plain"], arguments, pairs, asked.delay_us, hold=asked.hold)
        self._finish_call()
        return Acknowledged()

    def _capture(self, asked: protocol.CaptureGraph, _message: Message) -> GraphCaptured:
        arguments = self._slots[asked.slot][0]
        return GraphCaptured(said=captured(self._models["plain"], arguments)[:MAX_TEXT])

    def _forget(self, asked: protocol.ForgetSlots, _message: Message) -> Acknowledged:
        self._let_go()
        for number in asked.slots:
            self._give_back(number)
        self._place.release()
        return Acknowledged()

    def _let_go(self) -> None:
        self._outputs, self._batch, self._inputs, self._out = None, None, (), None

    def _give_back(self, number: int) -> None:
        """Give the memory of a slot back, that for outputs where no other slot has it too."""
        _arguments, inputs, out = self._slots.pop(number)
        inputs.close()
        if all(out is not other[2] for other in self._slots.values()):
            out.close()

    def _drop(self, _asked: protocol.DropOutputs, _message: Message) -> Acknowledged:
        self._outputs, self._batch = None, None
        self._place.spare()
        return Acknowledged()

    def _fetch(self, asked: protocol.FetchOutputs, _message: Message) -> HandedOver:
        if asked.index is not None and self._batch is not None:
            self._written = False
            self._outputs = self._batch.outputs[asked.index]
            _arguments, inputs, self._out = self._batch.slots[asked.index]
            self._inputs = inputs.tensors
        answer = self._hand_over()
        self._place.synchronize()
        if asked.index is None:  # of a batch, others may be fetched, and the next one is timed
            self._place.spare()
        return answer

    def _block(self, message: Message, handles: Sequence[Any], index: int, metas: Sequence[TensorMeta]) -> Shared:
        return self._place.attach(descriptors_of(message.descriptors, handles, index), handles[index], list(metas))


def serve(connection: socket.socket, place: TensorDevice | None = None) -> None:
    """Entry point of the candidate's process."""
    RunnerServer(Channel(connection), place).run()
    os._exit(0)


def serve_on_gpu(connection: socket.socket) -> None:
    """The same for candidates that run on the GPU."""
    serve(connection, CudaTensorDevice())


def _described(error: BaseException, module_name: str, *, broken: bool, changed: tuple[str, ...] = ()) -> RunnerError:
    own = f"/{module_name}.py"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(tempfile.gettempdir()) and frame.filename.endswith(own)
    ]
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    line = frames[-1].lineno if frames else line
    said = str(error) if isinstance(error, StepError) else "".join(traceback.format_exception_only(error))
    text = said.strip()
    return RunnerError(
        text=text[:MAX_TEXT],
        line=line if type(line) is int and 0 < line < 1 << 31 else None,
        memory=isinstance(error, MemoryError | torch.OutOfMemoryError) or any(part in text for part in NO_MEMORY),
        broken=broken,
        changed=changed,
    )
