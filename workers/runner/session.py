"""The runner: one candidate, driven by the referee over a socket. Nothing here is trusted by anybody.

It is told what to do by small JSON messages, each with a token that the answer must repeat; it never unpickles and
never sees problem source, input seeds or expected outputs. On the CPU `call` runs the model, says that it has returned,
copies what it returned into the referee's buffers, and describes it: all within one request, after which the process is
stopped. On a GPU the copy is made in the order of the stream, and `fetch` describes it.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import random
import socket
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import torch

from workers import extensions
from workers.ipc.placement import CudaTensorDevice, TensorDevice
from workers.ipc.tensors import (
    Shared,
    TensorMeta,
    decode,
    descriptors_of,
    flatten,
    overlap,
    shares_memory,
    structure,
)
from workers.ipc.wire import Channel, Message, WireClosedError
from workers.runner.answers import (
    ENDED_FORWARD,
    MAX_TEXT,
    RETURNED,
    Acknowledged,
    BatchCalled,
    BatchTimed,
    GraphCaptured,
    HandedOver,
    ModelCalled,
    ModelLoaded,
    OutputClaim,
    RunnerAnswer,
    RunnerError,
)
from workers.runner.batches import Batch, run_batch
from workers.runner.loading import construct, copy_state, import_source, state_of
from workers.runner.observation import observe
from workers.runner.protocol import (
    REQUESTS,
    AttachSlot,
    CallLate,
    CallModel,
    CaptureGraph,
    DropOutputs,
    FetchOutputs,
    ForgetSlots,
    HandOverHeld,
    LoadModel,
    RoundTrip,
    RunnerRequest,
    TimeBatch,
)
from workers.runner.stepping import ModelStep, StepError, StepPlan, matched
from workers.runner.streams import captured, run_held_up

IDLE_LIMIT_S = 3600.0
FORWARD_OF = "forward of "
"""What a step's forward pass alone is called, before the model's own name."""
NO_MEMORY = ("can't allocate memory", "CUDA error: out of memory", "CUDA out of memory")
LEAST_IN_PARTS = 64 << 10
"""Bytes of an output from which on it is copied in parts."""
PARTS = 16
_now = time.perf_counter
_shuffled = random.SystemRandom()
Act = Callable[[Any, Message], RunnerAnswer]
"""What is done for one kind of request."""


class RunnerServer:
    """Serves one connection."""

    module_name = "candidate"
    class_name = "ModelNew"
    loads_built = True
    """Whether `load_inline` loads what the compile stage has built."""

    def __init__(self, channel: Channel, place: TensorDevice | None = None) -> None:
        self._channel = channel
        self._place = place or TensorDevice()
        self._place.prepare()
        self._operations = self._acts()
        self._models: dict[str, Callable[..., Any]] = {}
        self._slots: dict[int, tuple[Any, Shared, Shared]] = {}
        self._state: list[torch.Tensor] = []
        """The model's parameters and buffers."""
        self._token: Any = None
        """Of the request that is being answered."""
        self._slot = 0
        """Where the arguments of the call lie that is being made."""
        self._waited_s = 0.0
        self._outputs: Any = None
        self._batch: Batch | None = None
        self._inputs: tuple[torch.Tensor, ...] = ()
        self._out: Shared | None = None
        self._held: Any = None
        """What an early call returned, held as a caller would who needs it later."""
        self._written = False
        """Whether the outputs of the last call lie in `_out` already."""

    def run(self) -> None:
        """Answer until the referee goes away."""
        while True:
            try:
                message = self._channel.receive(timeout_s=IDLE_LIMIT_S)
            except WireClosedError:
                return
            self._channel.send({"token": message.body.get("token"), **self._answer(message).data()})

    def _answer(self, message: Message) -> RunnerAnswer:
        self._token = message.body.get("token")
        try:
            request = REQUESTS.decode(message.body)
            with torch.no_grad():
                return self._operations[type(request)](request, message)
        except BaseException as error:  # noqa: BLE001 - whatever a candidate raises is reported, SystemExit too
            return _described(error, self.module_name, broken=self._is_broken())

    def _acts(self) -> dict[type[RunnerRequest], Act]:
        """What is done for each request. A method, so that kinds of runners can add theirs."""
        return {
            RoundTrip: lambda _request, _message: Acknowledged(),
            LoadModel: self._load,
            AttachSlot: self._attach,
            CallModel: self._call,
            HandOverHeld: self._hand_over_held,
            TimeBatch: self._time,
            CallLate: self._call_late,
            CaptureGraph: self._capture,
            ForgetSlots: self._forget,
            DropOutputs: self._drop,
            FetchOutputs: self._fetch,
        }

    def _is_broken(self) -> bool:
        """Whether the device's context is lost, as it is after an access out of bounds."""
        try:
            self._place.synchronize()
        except RuntimeError:
            return True
        return False

    def _load(self, asked: LoadModel, message: Message) -> ModelLoaded:
        torch.set_num_threads(asked.threads)
        init = self._block(message, asked.handles, 0, asked.init_metas)
        state = self._block(message, asked.handles, 1, asked.state_metas)
        if self.loads_built and extensions.wanted_by(asked.source):
            extensions.adopt_load_inline()
        module = import_source(asked.source, self.module_name)
        init_inputs = decode(asked.init, [tensor.clone() for tensor in init.tensors])
        with self._place.device:
            model = construct(module, self.class_name, init_inputs, asked.seed)
        model = model.to(self._place.device)
        names = copy_state(model, asked.state_names, state.tensors) if asked.copy_state else {}
        self._state = [tensor for _, tensor in state_of(model)]
        self._add("plain", model if asked.step is None else self._step(model, asked.step, names))
        return ModelLoaded(matched=names is not None)

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

    def _wait_for_cotangents(self) -> None:
        """Say that the forward has ended, and go on when the referee has put the cotangents in."""
        started = _now()
        self._channel.send({"token": self._token, ENDED_FORWARD: self._slot})
        self._channel.receive(timeout_s=IDLE_LIMIT_S).close()
        self._waited_s += _now() - started

    def _add(self, name: str, model: Callable[..., Any]) -> None:
        """Have a model under a name, and a step's forward pass alone beside it."""
        self._models[name] = model
        if isinstance(model, ModelStep):
            self._models[f"{FORWARD_OF}{name}"] = model.first_pass

    def _attach(self, asked: AttachSlot, message: Message) -> Acknowledged:
        inputs = self._block(message, asked.handles, 0, asked.metas)
        if asked.outputs_of is None:
            out = self._block(message, asked.handles, 1, [TensorMeta(dtype="uint8", shape=(asked.output_bytes,))])
        else:
            out = self._slots[asked.outputs_of][2]
        arguments = decode(asked.arguments, inputs.tensors)
        self._slots[asked.slot] = (arguments, inputs, out)
        return Acknowledged()

    def _call(self, asked: CallModel, message: Message) -> ModelCalled:
        arguments, inputs, self._out = self._slots[asked.slot]
        self._inputs, self._batch, self._slot = inputs.tensors, None, asked.slot
        model = self._models[asked.model]
        if asked.observe:
            self._outputs, elements = observe(model, arguments)
            if not self._place.is_gpu:
                return ModelCalled(operators=elements, handed=self._hand_over())
            self._finish_call()
            return ModelCalled(operators=elements)
        started, self._waited_s = _now(), 0.0
        self._outputs = model(*arguments)
        if asked.hold:
            self._held = self._outputs
        if not self._place.is_gpu:
            seconds = _now() - started - self._waited_s
            self._channel.send({"token": message.body.get("token"), **RETURNED})
            return ModelCalled(seconds=seconds, handed=self._hand_over())
        self._finish_call()
        return ModelCalled(seconds=_now() - started)

    def _hand_over_held(self, asked: HandOverHeld, _message: Message) -> HandedOver:
        _arguments, inputs, self._out = self._slots[asked.slot]
        self._inputs, self._outputs, self._held = inputs.tensors, self._held, None
        return self._hand_over()

    def _hand_over(self) -> HandedOver:
        """Copy the outputs of the last call into the referee's buffers, and describe them."""
        outputs, self._outputs = self._outputs, None
        items: list[torch.Tensor] = []
        nesting = structure(outputs, items)
        described = tuple(
            _describe_output(item, self._inputs, self._place.device, _shared(item, items[:index], self._state))
            for index, item in enumerate(items)
        )
        written = self._written or (self._out is not None and _write(items, self._out.tensors[0]))
        self._written = False
        return HandedOver(outputs=described, structure=nesting, written=written)

    def _finish_call(self) -> None:
        """On a GPU, copy the outputs as whoever uses them next would, on the current stream, and wait for the device.

        Work on another stream that was not joined is not in the copy."""
        if self._place.is_gpu and self._out is not None:
            self._written = _write(flatten(self._outputs), self._out.tensors[0])
        self._place.synchronize()

    def _time(self, asked: TimeBatch, _message: Message) -> BatchTimed | BatchCalled:
        """One call for each slot, in turn. On a GPU timed by events, with the cache flushed before and a wait after
        each; on the CPU each call's outputs go to the slot's own memory at once."""
        slots = [self._slots[number] for number in asked.slots]
        model = self._models[asked.model]
        self._outputs, self._batch = None, None
        if not self._place.is_gpu:
            held: list[Any] = []
            calls = tuple(self._call_in_batch(model, number, held) for number in asked.slots)
            self._batch = Batch(outputs=held, seconds=[], slots=slots)
            return BatchCalled(calls=calls)
        self._batch = run_batch(model, [slot[0] for slot in slots], self._place.synchronize)
        self._batch.slots = slots
        return BatchTimed(each=tuple(self._batch.seconds))

    def _call_in_batch(self, model: Callable[..., Any], number: int, held: list[Any]) -> HandedOver:
        """One call, whose outputs are handed over at once and held to the batch's end."""
        arguments, inputs, self._out = self._slots[number]
        self._inputs, self._slot = inputs.tensors, number
        self._outputs = model(*arguments)
        held.append(self._outputs)
        return self._hand_over()

    def _call_late(self, asked: CallLate, _message: Message) -> Acknowledged:
        source = self._slots[asked.source][1]
        arguments, inputs, self._out = self._slots[asked.slot]
        self._inputs, self._outputs, self._batch = inputs.tensors, None, None
        pairs = list(zip(inputs.tensors, source.tensors, strict=True))
        self._place.synchronize()
        self._outputs = run_held_up(self._models["plain"], arguments, pairs, asked.delay_us, hold=asked.hold)
        self._finish_call()
        return Acknowledged()

    def _capture(self, asked: CaptureGraph, _message: Message) -> GraphCaptured:
        arguments = self._slots[asked.slot][0]
        return GraphCaptured(said=captured(self._models["plain"], arguments)[:MAX_TEXT])

    def _forget(self, asked: ForgetSlots, _message: Message) -> Acknowledged:
        self._outputs, self._batch, self._inputs = None, None, ()
        self._out = None
        for number in asked.slots:
            _arguments, inputs, out = self._slots.pop(number)
            inputs.close()
            if all(out is not other[2] for other in self._slots.values()):
                out.close()
        self._place.release()
        return Acknowledged()

    def _drop(self, _asked: DropOutputs, _message: Message) -> Acknowledged:
        self._outputs, self._batch = None, None
        return Acknowledged()

    def _fetch(self, asked: FetchOutputs, _message: Message) -> HandedOver:
        if asked.index is not None and self._batch is not None:
            self._written = False
            self._outputs = self._batch.outputs[asked.index]
            _arguments, inputs, self._out = self._batch.slots[asked.index]
            self._inputs = inputs.tensors
        answer = self._hand_over()
        self._place.synchronize()
        return answer

    def _block(self, message: Message, handles: Sequence[Any], index: int, metas: Sequence[TensorMeta]) -> Shared:
        return self._place.attach(descriptors_of(message.descriptors, handles, index), handles[index], list(metas))


def serve(connection: socket.socket) -> None:
    """Entry point of the candidate's process."""
    RunnerServer(Channel(connection)).run()
    os._exit(0)


def serve_on_gpu(connection: socket.socket) -> None:
    """The same for candidates that run on the GPU."""
    RunnerServer(Channel(connection), CudaTensorDevice()).run()
    os._exit(0)


def _write(items: Sequence[Any], target: torch.Tensor) -> bool:
    """Copy outputs as dense bytes, one after the other, each at a multiple of 64; False when they do not fit."""
    offset = 0
    for item in items:
        if type(item) is not torch.Tensor or item.layout is not torch.strided or item.device != target.device:
            return False
        count = item.numel() * item.element_size()
        if offset + count > target.numel():
            return False
        _copy(item, target[offset : offset + count])
        offset += -(-count // 64) * 64
    return True


def _copy(item: torch.Tensor, target: torch.Tensor) -> None:
    """Copy an output's elements; by one thread where it is dense, so that the time depends on size alone. On the CPU in
    an order that nobody knows: what is still being computed cannot keep ahead of the copy."""
    if item.is_contiguous() and item.is_cpu and not (item.is_conj() or item.is_neg()):
        for start, end in _parts(target.numel()):
            ctypes.memmove(target.data_ptr() + start, item.data_ptr() + start, end - start)
        return
    written = target.view(item.dtype).view(item.shape)
    if not item.is_cpu or item.dim() == 0 or target.numel() < LEAST_IN_PARTS:
        written.copy_(item)
        return
    for start, end in _parts(item.shape[0], 1):
        written[start:end].copy_(item[start:end])


def _parts(size: int, least: int = LEAST_IN_PARTS) -> list[tuple[int, int]]:
    """Where parts of something begin and end, in random order; one part of less than `least`."""
    count = PARTS if size >= least else 1
    borders = [size * index // count for index in range(count + 1)]
    return _shuffled.sample(list(itertools.pairwise(borders)), count)


def _describe_output(
    item: Any, inputs: Sequence[torch.Tensor], device: torch.device, shared: str | None
) -> OutputClaim:
    if type(item) is not torch.Tensor:
        return OutputClaim(kind=f"{type(item).__module__}.{type(item).__qualname__}"[:200], shared=shared)
    if item.device.type != device.type:
        return OutputClaim(kind=f"a tensor on the {item.device.type}", shared=shared)
    written_out = item.layout is torch.strided and not (shares_memory(item) or item.is_conj() or item.is_neg())
    return OutputClaim(
        kind="tensor",
        meta=TensorMeta.of(item),
        alias=_alias(item, inputs),
        written_out=written_out,
        strides=tuple(item.stride()) if item.layout is torch.strided else None,
        shared=shared,
    )


def _shared(item: torch.Tensor, earlier: Sequence[torch.Tensor], state: Sequence[torch.Tensor]) -> str | None:
    """What an output has elements in common with, beside the inputs: an earlier output, or the model itself."""
    if type(item) is not torch.Tensor or item.layout is not torch.strided:
        return None
    for index, other in enumerate(earlier):
        if type(other) is torch.Tensor and other.layout is torch.strided and overlap(item, other):
            return f"output {index}"
    return "a parameter or buffer of the model" if _alias(item, state) is not None else None


def _alias(item: torch.Tensor, inputs: Sequence[torch.Tensor]) -> int | None:
    """Index of the input whose memory an output lies in."""
    for index, tensor in enumerate(inputs):
        start = tensor.data_ptr()
        if tensor.numel() and start <= item.data_ptr() < start + tensor.numel() * tensor.element_size():
            return index
    return None


def _described(error: BaseException, module_name: str, *, broken: bool) -> RunnerError:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if module_name in frame.filename]
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    said = str(error) if isinstance(error, StepError) else "".join(traceback.format_exception_only(error))
    text = said.strip()
    return RunnerError(
        text=text[:MAX_TEXT],
        line=frames[-1].lineno if frames else line,
        memory=isinstance(error, MemoryError | torch.OutOfMemoryError) or any(part in text for part in NO_MEMORY),
        broken=broken,
    )
