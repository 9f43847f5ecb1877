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
from workers.runner.batches import Batch, run_batch
from workers.runner.loading import construct, copy_state, import_source, state_of
from workers.runner.observation import observe
from workers.runner.stepping import ModelStep, StepError, StepPlan, matched
from workers.runner.streams import captured, run_held_up

IDLE_LIMIT_S = 3600.0
MAX_ERROR_CHARACTERS = 4000
FORWARD_OF = "forward of "
"""What a step's forward pass alone is called, before the model's own name."""
NO_MEMORY = ("can't allocate memory", "CUDA error: out of memory", "CUDA out of memory")
LEAST_IN_PARTS = 64 << 10
"""Bytes of an output from which on it is copied in parts."""
PARTS = 16
_now = time.perf_counter
_shuffled = random.SystemRandom()


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
        self._models: dict[str, Callable[..., Any]] = {}
        self._slots: dict[int, tuple[Any, Shared, Shared]] = {}
        self._state: list[torch.Tensor] = []
        """The model's parameters and buffers."""
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
            answer = self._answer(message)
            self._channel.send({"token": message.body.get("token"), **answer})

    def _answer(self, message: Message) -> dict[str, Any]:
        operation = getattr(self, f"_do_{message.body.get('op')}")
        try:
            with torch.no_grad():
                answer: dict[str, Any] = operation(message)
        except BaseException as error:  # noqa: BLE001 - whatever a candidate raises is reported, SystemExit too
            return {"error": {**_describe(error, self.module_name), "broken": self._is_broken()}}
        return answer

    def _is_broken(self) -> bool:
        """Whether the device's context is lost, as it is after an access out of bounds."""
        try:
            self._place.synchronize()
        except RuntimeError:
            return True
        return False

    def _do_noop(self, _message: Message) -> dict[str, Any]:
        return {"seconds": 0.0}

    def _do_load(self, message: Message) -> dict[str, Any]:
        body = message.body
        torch.set_num_threads(_integer(body["threads"]))
        init, state = (
            self._block(message, index, body[key]) for index, key in enumerate(("init_metas", "state_metas"))
        )
        started = _now()
        if self.loads_built and extensions.wanted_by(str(body["source"])):
            extensions.adopt_load_inline()
        module = import_source(str(body["source"]), self.module_name)
        init_inputs = decode(body["init"], [tensor.clone() for tensor in init.tensors])
        with self._place.device:
            model = construct(module, self.class_name, init_inputs, _integer(body["seed"]))
        model = model.to(self._place.device)
        names = copy_state(model, _strings(body["state_names"]), state.tensors) if body["copy_state"] else {}
        self._state = [tensor for _, tensor in state_of(model)]
        self._add("plain", model if body["step"] is None else self._step(model, body["step"], names))
        return {"seconds": _now() - started, "matched": names is not None}

    def _step(self, model: torch.nn.Module, plan: Any, names: dict[str, str] | None) -> ModelStep:
        """The model's forward and backward. Raises `StepError` where a parameter has no counterpart."""
        parsed = StepPlan.parse(plan)
        if names is None and parsed.parameters:
            raise StepError(
                "the parameters and buffers of ModelNew do not match those of Model, whose gradients are judged: "
                "register the same ones, by name and shape"
            )
        return ModelStep(model, matched(model, parsed, names or {}))

    def _add(self, name: str, model: Callable[..., Any]) -> None:
        """Have a model under a name, and a step's forward pass alone beside it."""
        self._models[name] = model
        if isinstance(model, ModelStep):
            self._models[f"{FORWARD_OF}{name}"] = model.first_pass

    def _do_slot(self, message: Message) -> dict[str, Any]:
        """Attach the memory of one input set: a block the inputs are in, and one for the outputs."""
        inputs = self._block(message, 0, message.body["metas"])
        size = _integer(message.body["output_bytes"])
        shared = message.body.get("outputs_of")
        if shared is None:
            out = self._block(message, 1, [TensorMeta(dtype="uint8", shape=(size,)).data()])
        else:
            out = self._slots[_integer(shared)][2]
        arguments = decode(message.body["arguments"], inputs.tensors)
        self._slots[_integer(message.body["slot"])] = (arguments, inputs, out)
        return {}

    def _do_call(self, message: Message) -> dict[str, Any]:
        arguments, inputs, self._out = self._slots[message.body["slot"]]  # type: ignore[index]
        self._inputs = inputs.tensors
        model = self._models[message.body["model"]]  # type: ignore[index]
        if message.body.get("observe"):
            self._outputs, elements = observe(model, arguments)
            if not self._place.is_gpu:
                return {"operators": elements, **self._hand_over()}
            self._finish_call()
            return {"operators": elements}
        started = _now()
        self._outputs = model(*arguments)
        if message.body.get("hold"):
            self._held = self._outputs
        if not self._place.is_gpu:
            seconds = _now() - started
            self._channel.send({"token": message.body.get("token"), "returned": True})
            return {"seconds": seconds, **self._hand_over()}
        self._finish_call()
        return {"seconds": _now() - started}

    def _do_held(self, message: Message) -> dict[str, Any]:
        """Hand over what an early call returned, as it is now, and let go of it."""
        _arguments, inputs, self._out = self._slots[_integer(message.body["slot"])]
        self._inputs, self._outputs, self._held = inputs.tensors, self._held, None
        return self._hand_over()

    def _hand_over(self) -> dict[str, Any]:
        """Copy the outputs of the last call into the referee's buffers, and describe them."""
        outputs, self._outputs = self._outputs, None
        items: list[torch.Tensor] = []
        nesting = structure(outputs, items)
        described = [_describe_output(item, self._inputs, self._place.device) for item in items]
        for index, text in enumerate(described):
            text["shared"] = _shared(items[index], items[:index], self._state)
        written = self._written or (self._out is not None and _write(items, self._out.tensors[0]))
        self._written = False
        return {"outputs": described, "structure": nesting, "written": written}

    def _finish_call(self) -> None:
        """On a GPU, copy the outputs as whoever uses them next would, on the current stream, and wait for the device.

        Work on another stream that was not joined is not in the copy."""
        if self._place.is_gpu and self._out is not None:
            self._written = _write(flatten(self._outputs), self._out.tensors[0])
        self._place.synchronize()

    def _do_time(self, message: Message) -> dict[str, Any]:
        """One call for each slot, in turn. On a GPU timed by events, with the cache flushed before and a wait after
        each; on the CPU each call's outputs go to the slot's own memory at once."""
        numbers: Any = message.body["slots"]
        slots = [self._slots[number] for number in numbers]
        model = self._models[message.body["model"]]  # type: ignore[index]
        if not self._place.is_gpu:
            return {"calls": [self._call_in_batch(model, slot) for slot in slots]}
        self._outputs, self._batch = None, None
        self._batch = run_batch(model, [slot[0] for slot in slots], self._place.synchronize)
        self._batch.slots = slots
        return {"each": self._batch.seconds}

    def _call_in_batch(self, model: Callable[..., Any], slot: tuple[Any, Shared, Shared]) -> dict[str, Any]:
        arguments, inputs, self._out = slot
        self._inputs = inputs.tensors
        self._outputs = model(*arguments)
        return self._hand_over()

    def _do_look(self, message: Message) -> dict[str, Any]:
        """On a GPU: one call whose inputs arrive late, in stream order, and whose other streams are held up."""
        body = message.body
        source = self._slots[_integer(body["from"])][1]
        arguments, inputs, self._out = self._slots[_integer(body["slot"])]
        self._inputs, self._outputs, self._batch = inputs.tensors, None, None
        pairs = list(zip(inputs.tensors, source.tensors, strict=True))
        self._place.synchronize()
        delay_us, hold = _integer(body["delay_us"]), body["hold"] is True
        self._outputs = run_held_up(self._models["plain"], arguments, pairs, delay_us, hold=hold)
        self._finish_call()
        return {}

    def _do_capture(self, message: Message) -> dict[str, Any]:
        """On a GPU: what CUDA says when it is to record one call as a graph; nothing where it can. Ask this last."""
        arguments = self._slots[_integer(message.body["slot"])][0]
        return {"said": captured(self._models["plain"], arguments)[:MAX_ERROR_CHARACTERS]}

    def _do_forget(self, message: Message) -> dict[str, Any]:
        """Let go of slots that are not needed any more."""
        self._outputs, self._batch, self._inputs = None, None, ()
        numbers: Any = message.body["slots"]
        self._out = None
        for number in numbers:
            _arguments, inputs, out = self._slots.pop(number)
            inputs.close()
            if all(out is not other[2] for other in self._slots.values()):
                out.close()
        self._place.release()
        return {}

    def _do_drop(self, _message: Message) -> dict[str, Any]:
        self._outputs, self._batch = None, None
        return {}

    def _do_fetch(self, message: Message) -> dict[str, Any]:
        index = message.body.get("index")
        if index is not None and self._batch is not None:
            self._written = False
            self._outputs = self._batch.outputs[_integer(index)]
            _arguments, inputs, self._out = self._batch.slots[_integer(index)]
            self._inputs = inputs.tensors
        answer = self._hand_over()
        self._place.synchronize()
        return answer

    def _block(self, message: Message, index: int, metas: Any) -> Shared:
        handles: Any = message.body.get("handles") or [{}] * (index + 1)
        parsed = [TensorMeta.parse(meta) for meta in metas]
        return self._place.attach(descriptors_of(message.descriptors, handles, index), handles[index], parsed)


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


def _describe_output(item: Any, inputs: Sequence[torch.Tensor], device: torch.device) -> dict[str, Any]:
    if type(item) is not torch.Tensor:
        return {"type": f"{type(item).__module__}.{type(item).__qualname__}"[:200]}
    if item.device.type != device.type:
        return {"type": f"a tensor on the {item.device.type}"}
    written_out = item.layout is torch.strided and not (shares_memory(item) or item.is_conj() or item.is_neg())
    return {
        "type": "tensor",
        **TensorMeta.of(item).data(),
        "alias": _alias(item, inputs),
        "written_out": written_out,
        "strides": list(item.stride()) if item.layout is torch.strided else None,
    }


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


def _describe(error: BaseException, module_name: str) -> dict[str, Any]:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if module_name in frame.filename]
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    said = str(error) if isinstance(error, StepError) else "".join(traceback.format_exception_only(error))
    text = said.strip()
    return {
        "type": type(error).__name__,
        "text": text[:MAX_ERROR_CHARACTERS],
        "line": frames[-1].lineno if frames else line,
        "memory": isinstance(error, MemoryError | torch.OutOfMemoryError) or any(part in text for part in NO_MEMORY),
    }


def _integer(value: Any) -> int:
    return int(value)


def _strings(value: Any) -> list[str]:
    return [str(item) for item in value]
