"""The referee's side of a runner: asks, times and takes the answers apart without trusting a byte of them."""

from __future__ import annotations

import contextlib
import copy
import itertools
import secrets
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from workers.ipc.freezer import Freezer, FreezerError
from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import DataError, TensorMeta, encode
from workers.ipc.wire import Channel, Message, WireClosedError, WireError, WireTimeoutError
from workers.referee.errors import FaultKind, RunnerFault

MAX_OUTPUTS = 64
RUNNING = frozenset({"call", "time", "look"})
"""Requests in which the model runs."""
LATEST_STOPS, STRIKES = 5, 3
"""So many of the latest stops in which something ran are no accident; fewer do not move a median."""
POISONED_BYTES = 4 << 20
POISON_BLOCKS, POISON_BLOCK, POISON = 64, 4096, 0xA5
MAX_OPERATORS = 1000
MAX_ELEMENTS = 1 << 48
MAX_CLAIM_S = 86400.0


class ExitReader(Protocol):
    """Tells how a runner ended."""

    def __call__(self) -> RunnerFault:
        """The fault that explains why the connection is gone."""


@dataclass(frozen=True, kw_only=True)
class TimedCall:
    """One timed call."""

    wall_s: float
    """Seconds on the referee's clock from sending the request to the word that the model has returned (on a GPU, to
    the answer)."""
    tail_s: float = 0.0
    """Seconds from then until the outputs were handed over and the process was stopped again."""
    claimed_s: float
    """Seconds the runner says the call took; evidence, never a figure."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """One fetched output as the runner describes it, with a private copy of its bytes where it wrote any."""

    kind: str
    """`tensor`, or the Python type's name."""
    meta: TensorMeta | None
    alias: int | None
    """Index of the input it shares memory with."""
    value: torch.Tensor | None
    written_out: bool = True
    """Whether every element has a place of its own in memory."""
    strides: tuple[int, ...] = ()
    """How it lay in the runner's memory; empty where the runner does not say."""
    shared: str | None = None
    """What it has elements in common with, beside inputs: an earlier output, or the model."""


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """What one call returned."""

    outputs: tuple[Output, ...]
    structure: Any
    """How the outputs are nested, in the runner's words."""
    wall_s: float
    """Seconds the transfer took on the referee's clock."""


@dataclass(frozen=True, kw_only=True)
class _Stamps:
    """An answer and when it came."""

    message: Message
    wall_s: float
    """From sending the request to the word that the model has returned, or to the end where there is none."""
    tail_s: float
    """From then until the process had stopped."""


class Slot:
    """Memory for one input set: what the runner sees as inputs, and where it puts outputs."""

    def __init__(self, number: int, arguments: Any, output_metas: Sequence[TensorMeta], place: TensorDevice) -> None:
        tensors: list[torch.Tensor] = []
        self.number = number
        self.place = place
        self.arguments = encode(arguments, tensors)
        self.inputs = place.allocate([TensorMeta.of(tensor) for tensor in tensors])
        size = sum(-(-meta.nbytes // 64) * 64 for meta in output_metas)
        self.outputs = place.allocate([TensorMeta(dtype="uint8", shape=(max(64, size),))])

    def write(self, tensors: Sequence[torch.Tensor]) -> None:
        """Put inputs in."""
        for target, tensor in zip(self.inputs.tensors, tensors, strict=True):
            target.copy_(tensor)
        self.place.synchronize()

    def sibling(self, number: int, *, own_outputs: bool = False) -> Slot:
        """A slot like this one that shares its memory for outputs, unless it shall have its own."""
        other = copy.copy(self)
        other.number = number
        other.inputs = self.place.allocate(self.inputs.metas)
        if own_outputs:
            other.outputs = self.place.allocate(self.outputs.metas)
        return other

    def poison(self) -> None:
        """Make stale outputs unlike any result: all of them, or in large ones blocks that nobody can know.

        Large ones hold an earlier call's outputs, and no two calls have the same values."""
        raw = self.outputs.raw
        if self.place.is_gpu or raw.numel() <= POISONED_BYTES:
            self.outputs.poison()
            return
        for start in torch.randint(raw.numel() - POISON_BLOCK, (POISON_BLOCKS,)).tolist():
            raw[start : start + POISON_BLOCK] = POISON

    def close(self) -> None:
        """Give the memory back."""
        self.inputs.close()
        self.outputs.close()


class RunnerSession:
    """Drives one runner. Every method raises `RunnerFault` when the runner fails to do its part."""

    def __init__(
        self,
        channel: Channel,
        exit_reader: ExitReader,
        *,
        deadline: float,
        place: TensorDevice | None = None,
        freezer: Freezer | None = None,
    ) -> None:
        self.place = place or TensorDevice()
        self._freezer = freezer
        self._ran: deque[bool] = deque(maxlen=LATEST_STOPS)
        """Of the latest stops, those in which something ran."""
        self._awake = 0
        """How many callers want the process to run between requests."""
        self._last: dict[str, Any] = {}
        """The answer to the last call on the CPU, which describes its outputs."""
        self._batch: list[dict[str, Any]] = []
        """The same for each call of a batch."""
        self._channel = channel
        self._exit_reader = exit_reader
        self.deadline = deadline
        self.call_limit_s = 10.0
        self.calls: list[tuple[float, float]] = []
        """When the model ran: from each request to its answer, in seconds on the monotonic clock."""

    def ask(
        self, body: dict[str, Any], descriptors: Sequence[int] = (), *, limit_s: float | None = None
    ) -> tuple[dict[str, Any], float]:
        """Send a request and return the answer and the seconds between."""
        token = secrets.token_hex(8)
        request = {**body, "token": token}
        limit = self._limit(limit_s)
        stamps = self._exchange(request, descriptors, limit)
        return self._checked(stamps.message, token), stamps.wall_s + stamps.tail_s

    def _exchange(self, request: dict[str, Any], descriptors: Sequence[int], limit: float) -> _Stamps:
        """One request and its answer. The process runs from here to the end only: it is woken when the request is
        on its way, and what it still does after the answer is on the clock until it has stopped."""
        if self._freezer is not None and self._freezer.is_frozen:
            self._ran.append(not self._freezer.is_still())
            if sum(self._ran) >= STRIKES:
                raise RunnerFault(FaultKind.FORGED, "something in it ran while it was stopped, without being asked")
        try:
            return self._timed(request, descriptors, limit)
        except WireTimeoutError:
            if self._freezer is not None and not self._freezer.was_thawed():
                raise FreezerError("the candidate's processes were stopped and could not be woken") from None
            left = "" if time.monotonic() < self.deadline else ", all that was left of the evaluation's time"
            raise RunnerFault(FaultKind.HUNG, f"`{request['op']}` did not end within {limit:.1f} s{left}") from None
        except WireClosedError:
            raise self._exit_reader() from None
        except WireError as error:
            raise RunnerFault(FaultKind.FORGED, f"the runner's connection carried something else: {error}") from None

    def _timed(self, request: dict[str, Any], descriptors: Sequence[int], limit: float) -> _Stamps:
        freezer, returned = self._freezer, None
        started = time.perf_counter()
        self._channel.send(request, descriptors, timeout_s=limit)
        if freezer is not None and freezer.is_frozen:
            freezer.thaw()
        message = self._channel.receive(timeout_s=limit)
        if _says_returned(message, request["token"]):
            returned = time.perf_counter()
            message = self._channel.receive(timeout_s=limit)
        if freezer is not None and not self._awake:
            freezer.freeze()
        ended = time.perf_counter()
        if request["op"] in RUNNING:
            self.calls.append((started, ended))
        returned = ended if returned is None else returned
        return _Stamps(message=message, wall_s=returned - started, tail_s=ended - returned)

    @contextlib.contextmanager
    def awake(self) -> Iterator[None]:
        """Let the process run between requests too, to see what it does when nobody asks for anything."""
        if self._freezer is not None and self._freezer.is_frozen:
            self._freezer.thaw()
        self._awake += 1
        try:
            yield
        finally:
            self._awake -= 1
            if self._freezer is not None and not self._awake:
                self._freezer.freeze()

    @property
    def is_stopped_between_calls(self) -> bool:
        """Whether the process runs only while it is asked."""
        return self._freezer is not None

    def _limit(self, limit_s: float | None) -> float:
        limit = min(limit_s if limit_s is not None else self.call_limit_s, self.deadline - time.monotonic())
        if limit <= 0:
            raise RunnerFault(FaultKind.HUNG, "the evaluation's time limit was reached")
        return limit

    def _checked(self, message: Message, token: str) -> dict[str, Any]:
        message.close()
        body = dict(message.body)
        early = body.get("counters")
        if isinstance(early, str):
            raise RunnerFault(FaultKind.CRASHED, f"the profiler ended early: {early.strip()[-400:]}")
        if message.descriptors or body.get("token") != token:
            raise RunnerFault(FaultKind.FORGED, "a message that the runner did not send arrived on its connection")
        error = body.get("error")
        if error is not None:
            raise _raised(error)
        return body

    def receive(self, *, limit_s: float) -> dict[str, Any]:
        """A message that was announced by an answer rather than asked for."""
        try:
            message = self._channel.receive(timeout_s=limit_s)
        except WireError as error:
            raise RunnerFault(FaultKind.FORGED, f"an announced message did not come: {error}") from None
        message.close()
        return dict(message.body)

    def noop(self) -> float:
        """Seconds of an empty round trip."""
        return self.ask({"op": "noop"})[1]

    def load(
        self,
        source: str,
        init: Any,
        state: Sequence[tuple[str, torch.Tensor]],
        *,
        seed: int,
        copy_state: bool,
        threads: int,
        limit_s: float,
        step: dict[str, Any] | None = None,
    ) -> bool:
        """Build the model; False when its parameters could not be matched with the reference's.

        With `step`, a `StepPlan` as data, calls run its forward and backward."""
        tensors: list[torch.Tensor] = []
        encoded = encode(init, tensors)
        blocks = self.place.holding(tensors), self.place.holding([tensor for _, tensor in state])
        body = {
            "op": "load",
            "source": source,
            "init": encoded,
            "init_metas": [meta.data() for meta in blocks[0].metas],
            "state_metas": [meta.data() for meta in blocks[1].metas],
            "handles": [block.handle for block in blocks],
            "state_names": [name for name, _ in state],
            "seed": seed,
            "copy_state": copy_state,
            "threads": threads,
            "step": step,
        }
        try:
            answer, _ = self.ask(body, [number for block in blocks for number in block.descriptors], limit_s=limit_s)
        finally:
            for block in blocks:
                block.close()
        return answer.get("matched") is True

    def open_slot(self, number: int, arguments: Any, output_metas: Sequence[TensorMeta]) -> Slot:
        """Share memory for one input set."""
        slot = Slot(number, arguments, output_metas, self.place)
        body = {
            "op": "slot",
            "slot": number,
            "arguments": slot.arguments,
            "metas": [meta.data() for meta in slot.inputs.metas],
            "handles": [slot.inputs.handle, slot.outputs.handle],
            "output_bytes": slot.outputs.metas[0].shape[0],
        }
        self.ask(body, [*slot.inputs.descriptors, *slot.outputs.descriptors])
        return slot

    def open_sibling(self, slot: Slot, number: int, *, own_outputs: bool = False) -> Slot:
        """Another slot of the same shapes, with inputs of its own and, unless told otherwise, the same memory for
        outputs."""
        sibling = slot.sibling(number, own_outputs=own_outputs)
        body: dict[str, Any] = {
            "op": "slot",
            "slot": number,
            "arguments": sibling.arguments,
            "metas": [meta.data() for meta in sibling.inputs.metas],
            "handles": [sibling.inputs.handle, *([sibling.outputs.handle] if own_outputs else [])],
            "outputs_of": None if own_outputs else slot.number,
            "output_bytes": slot.outputs.metas[0].shape[0],
        }
        self.ask(body, [*sibling.inputs.descriptors, *(sibling.outputs.descriptors if own_outputs else ())])
        return sibling

    def call(self, slot: Slot, model: str = "plain", *, limit_s: float | None = None, hold: bool = False) -> TimedCall:
        """Run the model once on what is in the slot. With `hold`, the runner keeps what it returned: see `held`."""
        self._poison_early(slot)
        token = secrets.token_hex(8)
        request = {"op": "call", "slot": slot.number, "model": model, "token": token, "hold": hold}
        stamps = self._exchange(request, (), self._limit(limit_s))
        self._last = self._checked(stamps.message, token)
        return TimedCall(wall_s=stamps.wall_s, tail_s=stamps.tail_s, claimed_s=_claim(self._last.get("seconds")))

    def held(self, slot: Slot) -> Fetched:
        """What the call returned that was to be held, as it is now; on the CPU."""
        self._poison_early(slot)
        self._last, _ = self.ask({"op": "held", "slot": slot.number})
        return self.fetch(slot)

    def call_batch(self, slots: Sequence[Slot], model: str, *, limit_s: float | None = None) -> float:
        """On the CPU: one call on each slot, each with memory for outputs of its own; seconds for all of them."""
        for slot in slots:
            self._poison_early(slot)
        answer, wall = self.ask(
            {"op": "time", "slots": [slot.number for slot in slots], "model": model}, limit_s=limit_s
        )
        calls = answer.get("calls")
        if not isinstance(calls, list) or len(calls) != len(slots) or not all(isinstance(one, dict) for one in calls):
            raise RunnerFault(FaultKind.FORGED, "the calls of a batch are not described")
        self._batch = calls
        return wall

    def look(self, slot: Slot, source: Slot, delay_s: float, *, hold: bool) -> None:
        """Run the model once on what is in `source`, copied in late; with `hold`, its other streams are held up."""
        self._poison_early(slot)
        delay_us = int(1e6 * delay_s)
        self.ask({"op": "look", "slot": slot.number, "from": source.number, "delay_us": delay_us, "hold": hold})

    def capture(self, slot: Slot) -> str:
        """What CUDA says when it is to record one call as a graph; nothing where it can. The runner's last call."""
        return str(self.ask({"op": "capture", "slot": slot.number})[0].get("said") or "")

    def forget(self, slots: Sequence[Slot]) -> None:
        """Have the runner let go of slots."""
        self.ask({"op": "forget", "slots": [slot.number for slot in slots]})

    def observe(self, slot: Slot) -> dict[str, int]:
        """Run the model once and return PyTorch's operators it used with the elements of their largest tensor."""
        self._poison_early(slot)
        answer, _ = self.ask({"op": "call", "slot": slot.number, "model": "plain", "observe": True})
        self._last = answer
        operators = answer.get("operators")
        if not isinstance(operators, dict):
            raise RunnerFault(FaultKind.FORGED, "operators are not described")
        seen = itertools.islice(operators.items(), MAX_OPERATORS)
        return {name[:100]: size for name, size in seen if type(size) is int and 0 <= size < MAX_ELEMENTS}

    def _poison_early(self, slot: Slot) -> None:
        """Outputs are copied within the call, and what it leaves out must not look like an output."""
        slot.poison()

    def drop(self) -> None:
        """Let the runner free what the last call returned; on the CPU it has done so."""
        if self.place.is_gpu:
            self.ask({"op": "drop"})

    def fetch(self, slot: Slot, index: int | None = None) -> Fetched:
        """Take what the last call returned, as a copy that the runner cannot change any more.

        `index` picks one call of a batch, of which others can be fetched after it. On the CPU the outputs lie here
        already, and the process that wrote them is stopped."""
        wall = 0.0
        if not self.place.is_gpu:
            answer = self._last if index is None else self._batch[index]
        else:
            if index is not None:
                slot.outputs.poison()
            answer, wall = self.ask({"op": "fetch", "index": index})
        described = answer.get("outputs")
        if not isinstance(described, list) or len(described) > MAX_OUTPUTS:
            raise RunnerFault(FaultKind.FORGED, "outputs are not described by a list")
        raw = slot.outputs.tensors[0].clone() if answer.get("written") is True else None
        self.place.synchronize()
        return Fetched(outputs=_outputs(described, raw), structure=answer.get("structure"), wall_s=wall)

    def close(self) -> None:
        """Hang up."""
        self._channel.close()
        if self._freezer is not None:
            self._freezer.close()


def _outputs(described: list[Any], raw: torch.Tensor | None) -> tuple[Output, ...]:
    outputs, offset = [], 0
    for item in described:
        if not isinstance(item, dict) or not isinstance(item.get("type"), str):
            raise RunnerFault(FaultKind.FORGED, "an output is not described")
        if item["type"] != "tensor":
            outputs.append(Output(kind=item["type"][:200], meta=None, alias=None, value=None))
            continue
        value = None
        try:
            meta = TensorMeta.parse(item)
            if raw is not None and offset + meta.nbytes <= raw.numel():
                value = raw[offset : offset + meta.nbytes].view(meta.torch_dtype).view(meta.shape)
                offset += -(-meta.nbytes // 64) * 64
        except (DataError, RuntimeError, ValueError) as error:  # torch refuses shapes whose strides overflow
            raise RunnerFault(FaultKind.FORGED, f"an output is described wrongly: {error}") from None
        alias = item.get("alias")
        place = alias if type(alias) is int else None
        written_out = item.get("written_out") is not False
        shared = item.get("shared")
        outputs.append(
            Output(
                kind="tensor",
                meta=meta,
                alias=place,
                value=value,
                written_out=written_out,
                strides=_strides(item.get("strides"), len(meta.shape)),
                shared=shared[:100] if isinstance(shared, str) else None,
            )
        )
    return tuple(outputs)


def _strides(described: Any, dimensions: int) -> tuple[int, ...]:
    """Strides as numbers; 0 for what is none, which no dense output has."""
    if not isinstance(described, list) or len(described) != dimensions:
        return (0,) * dimensions
    return tuple(one if type(one) is int and 0 <= one < MAX_ELEMENTS else 0 for one in described)


def _says_returned(message: Message, token: str) -> bool:
    """Whether a message says that the model has returned and that the answer follows."""
    body = message.body
    return body.get("returned") is True and body.get("token") == token and not message.descriptors


def _claim(value: Any) -> float:
    """A claimed duration as a number that later sums can bear; 0 for anything else."""
    if type(value) not in (int, float) or not 0 <= value <= MAX_CLAIM_S:
        return 0.0
    return float(value)


def _raised(error: Any) -> RunnerFault:
    if not isinstance(error, dict):
        return RunnerFault(FaultKind.FORGED, "an error is not described")
    line = error.get("line")
    place = f"candidate line {line}: " if type(line) is int and 0 < line < 1 << 31 else ""
    kind = FaultKind.MEMORY if error.get("memory") is True else FaultKind.RAISED
    if error.get("broken") is True:
        kind = FaultKind.CRASHED
    return RunnerFault(kind, place + str(error.get("text"))[:4000])
