"""The referee's side of a runner: what it asks, and what it takes from the answers, of which no byte is trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch

from workers.ipc.freezer import Freezer
from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import TensorMeta, encode
from workers.ipc.wire import Channel
from workers.referee.boundary.exchange import ExitReader, RunnerConnection, TimeLimit, left_changed
from workers.referee.boundary.slots import Slot
from workers.referee.comparison.call_outputs import Fetched, Output, outputs_of
from workers.referee.comparison.error_scales import same_bytes
from workers.referee.errors import FaultKind, RunnerFault
from workers.runner import protocol
from workers.runner.answers import (
    Acknowledged,
    BatchCalled,
    CalledRepeatedly,
    GraphCaptured,
    HandedOver,
    ModelCalled,
    ModelLoaded,
    OutputsKept,
    RunnerAnswer,
    StateRead,
)
from workers.runner.step import StepPlan

A = TypeVar("A", bound=RunnerAnswer)
BUILT = "the module was imported and its model built"


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


class RunnerSession(RunnerConnection):
    """Drives one runner. Every method raises `RunnerFault` when the runner fails to do its part."""

    def __init__(
        self,
        channel: Channel,
        exit_reader: ExitReader,
        *,
        time_limit: TimeLimit,
        place: TensorDevice | None = None,
        freezer: Freezer | None = None,
    ) -> None:
        super().__init__(channel, exit_reader, time_limit=time_limit, freezer=freezer)
        self.place = place or TensorDevice()
        self._cotangents = 0
        """How many of a call's arguments, the last ones, its forward must not see."""
        self._gradients = 0
        """How many of what a call hands over, the last ones, are no outputs of its forward."""
        self.missing: tuple[str, ...] = ()
        """Parameters of the model that match none of the reference's: those that it may keep in another shape."""
        self._last: HandedOver | None = None
        """What the last call on the CPU returned."""
        self._batch: tuple[HandedOver, ...] = ()
        """The same for each call of a batch."""

    def ask(
        self,
        request: protocol.RunnerRequest,
        expected: type[A],
        descriptors: Sequence[int] = (),
        *,
        limit_s: float | None = None,
    ) -> tuple[A, float]:
        """Send a request and return the answer and the seconds between."""
        answer, took = self.exchange(request, expected, descriptors, limit_s=limit_s)
        return answer, took.whole_s

    def noop(self) -> float:
        """Seconds of an empty round trip."""
        return self.ask(protocol.RoundTrip(), Acknowledged)[1]

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
        step: StepPlan | None = None,
    ) -> bool:
        """Build the model; False when its parameters could not be matched with the reference's.

        With `step`, calls run its forward and backward."""
        self._cotangents = 0 if step is None or self.place.is_gpu else len(step.outputs)
        self._gradients = 0 if step is None else len(step.inputs) + len(step.parameters)
        tensors: list[torch.Tensor] = []
        encoded = encode(init, tensors)
        blocks = self.place.holding(tensors), self.place.holding([tensor for _, tensor in state])
        request = protocol.LoadModel(
            source=source,
            init=encoded,
            init_metas=tuple(blocks[0].metas),
            state_metas=tuple(blocks[1].metas),
            handles=tuple(block.handle for block in blocks),
            state_names=tuple(name for name, _ in state),
            seed=seed,
            copy_state=copy_state,
            threads=threads,
            step=step,
        )
        descriptors = [number for block in blocks for number in block.descriptors]
        try:
            loaded, _ = self.ask(request, ModelLoaded, descriptors, limit_s=limit_s)
        finally:
            for block in blocks:
                block.close()
        if not set(loaded.missing) <= {name for name, _ in state}:
            raise RunnerFault(FaultKind.FORGED, "it misses parameters that the reference does not have")
        _refuse_changes(BUILT, loaded.changed)
        self.missing = loaded.missing
        return loaded.matched

    def change_state(self, state: Sequence[tuple[str, torch.Tensor]]) -> bool:
        """Give the model's parameters other values, in place; False where they do not match the reference's."""
        block = self.place.holding([tensor for _, tensor in state])
        request = protocol.ChangeState(
            state_names=tuple(name for name, _ in state), state_metas=tuple(block.metas), handles=(block.handle,)
        )
        try:
            changed, _ = self.ask(request, ModelLoaded, list(block.descriptors))
        finally:
            block.close()
        return changed.matched

    def add_instance(
        self,
        state: Sequence[tuple[str, torch.Tensor]],
        *,
        seed: int,
        limit_s: float,
        origin: protocol.ModelOrigin = protocol.ModelOrigin.BUILT,
        init: Any = None,
    ) -> bool:
        """Have another model of the candidate's class in its process, which is called `other`, with parameters of its
        own, built from other arguments where `init` has some; False where they do not match the reference's."""
        tensors: list[torch.Tensor] = []
        encoded = None if init is None else encode(init, tensors)
        blocks = [self.place.holding([tensor for _, tensor in state])]
        if init is not None:
            blocks.append(self.place.holding(tensors))
        request = protocol.AddInstance(
            seed=seed,
            origin=origin,
            init=encoded,
            init_metas=tuple(blocks[-1].metas) if init is not None else (),
            state_names=tuple(name for name, _ in state),
            state_metas=tuple(blocks[0].metas),
            handles=tuple(block.handle for block in blocks),
        )
        descriptors = [number for block in blocks for number in block.descriptors]
        try:
            added, _ = self.ask(request, ModelLoaded, descriptors, limit_s=limit_s)
        finally:
            for block in blocks:
                block.close()
        _refuse_changes("another model was built", added.changed)
        return added.matched

    def crowd_in(self, slot: Slot, count: int, *, seed: int, limit_s: float) -> None:
        """Have up to `count` more models, with the values of `other`, each called once on what is in the slot, for a
        tenth of a second."""
        self.ask(protocol.CrowdIn(slot=slot.number, count=count, seed=seed), Acknowledged, limit_s=limit_s)

    def drop_instance(self) -> None:
        """Have the runner let go of all models but the first."""
        self.ask(protocol.DropInstance(), Acknowledged)

    def interleave_steps(self, slots: Sequence[Slot], *, more: int = 0) -> list[Fetched]:
        """Of steps on two or three slots, each with memory of its own, a third of which has the first's inputs: both
        forward passes, then the backward of the first, of the second and of the first again, with the last one's
        cotangents; what they hand over. With `more`, so many further graphs of the second are open meanwhile."""
        for slot in slots:
            slot.poison()
        for slot in slots[2:]:
            slot.deliver()
        request = protocol.InterleaveSteps(slots=tuple(slot.number for slot in slots), more=more)
        done, _ = self.ask(request, BatchCalled)
        if len(done.calls) != len(slots):
            raise RunnerFault(FaultKind.FORGED, "the steps are not described")
        return [self._taken(slot, handed) for slot, handed in zip(slots, done.calls, strict=True)]

    def hold_state(self, number: int, state: Sequence[tuple[str, torch.Tensor]]) -> None:
        """Have the runner keep values of parameters and buffers under a number, for `put_state` and batches."""
        block = self.place.holding([tensor for _, tensor in state])
        request = protocol.HoldState(
            number=number,
            state_names=tuple(name for name, _ in state),
            state_metas=tuple(block.metas),
            handles=(block.handle,),
        )
        try:
            self.ask(request, Acknowledged, list(block.descriptors))
        finally:
            block.close()

    def put_state(self, number: int) -> None:
        """Give the model's parameters the values that are held under a number, in place."""
        self.ask(protocol.PutState(number=number), Acknowledged)

    def drop_states(self) -> None:
        """Have the runner let go of values that it holds."""
        self.ask(protocol.DropStates(), Acknowledged)

    def read_state(self, names: Sequence[str], metas: Sequence[TensorMeta]) -> dict[str, torch.Tensor]:
        """The model's parameters and buffers as they are now, under the reference's names: those that it has."""
        block = self.place.allocate(list(metas))
        request = protocol.ReadState(state_names=tuple(names), state_metas=tuple(block.metas), handles=(block.handle,))
        try:
            read, _ = self.ask(request, StateRead, list(block.descriptors))
            tensors = dict(zip(names, block.tensors, strict=True))
            if not set(read.names) <= set(tensors):
                raise RunnerFault(FaultKind.FORGED, "it hands over a state that it was not asked for")
            found = {name: tensors[name].clone() for name in read.names}
            self.place.synchronize()
        finally:
            block.close()
        return found

    def open_slot(self, number: int, arguments: Any, output_metas: Sequence[TensorMeta]) -> Slot:
        """Share memory for one input set."""
        slot = Slot(number, arguments, output_metas, self.place)
        slot.late = self._cotangents
        try:
            self._attach(slot)
        except BaseException:
            slot.close()
            raise
        return slot

    def open_sibling(self, slot: Slot, number: int, *, own_outputs: bool = False) -> Slot:
        """Another slot of the same shapes, with inputs of its own and, without `own_outputs`, the same memory for
        outputs."""
        sibling = slot.sibling(number, own_outputs=own_outputs)
        try:
            self._attach(sibling, outputs_of=None if own_outputs else slot.number)
        except BaseException:
            (sibling if own_outputs else sibling.inputs).close()
            raise
        return sibling

    def _attach(self, slot: Slot, outputs_of: int | None = None) -> None:
        if slot.late:
            self._late[slot.number] = slot
        blocks = [slot.inputs] if outputs_of is not None else [slot.inputs, slot.outputs]
        request = protocol.AttachSlot(
            slot=slot.number,
            arguments=slot.arguments,
            metas=tuple(slot.inputs.metas),
            handles=tuple(block.handle for block in blocks),
            outputs_of=outputs_of,
            output_bytes=slot.outputs.metas[0].shape[0],
        )
        self.ask(request, Acknowledged, [number for block in blocks for number in block.descriptors])

    def call(
        self,
        slot: Slot,
        model: str = "plain",
        *,
        limit_s: float | None = None,
        hold: bool = False,
        at_once: bool = False,
        form: protocol.CallForm = protocol.USUAL_FORM,
    ) -> TimedCall:
        """Run the model once on what is in the slot. With `hold`, the runner keeps what it returned: see `held`.

        With `at_once`, on the CPU, outputs count as they are when the model returns, not a little later; those of a
        forward, as they are when it says that it has ended. No figure is to be taken of such a call, nor of one of
        another `form` than usual."""
        slot.poison()
        self._keeps_early, self._early = at_once and slot.late > 0, None
        request = protocol.CallModel(slot=slot.number, model=model, hold=hold, at_once=at_once, form=form)
        called, took = self.exchange(request, ModelCalled, limit_s=limit_s)
        self._last = called.handed
        if self._keeps_early and called.handed is not None:
            self._compare_early(slot, called.handed)
        return TimedCall(wall_s=took.wall_s, tail_s=took.tail_s, claimed_s=called.seconds)

    def _compare_early(self, slot: Slot, handed: HandedOver) -> None:
        """Whether the forward's outputs were there when it was said to have ended, as they are in the end."""
        self._keeps_early = False
        own = handed.outputs[: len(handed.outputs) - self._gradients]
        whole = replace(handed, outputs=own)
        early = [] if self._early is None else outputs_of(whole, self._early)
        late = outputs_of(whole, slot.outputs.tensors[0])
        if len(early) != len(own) or not all(map(_same_value, early, late)):
            text = "its forward was said to have ended, and its outputs were not there yet"
            raise RunnerFault(FaultKind.FORGED, text)

    def keeps_outputs(self, slot: Slot) -> bool:
        """Whether the model holds memory that it has returned, after one call on what is in the slot."""
        return self.ask(protocol.AskWhatIsKept(slot=slot.number), OutputsKept)[0].kept

    def repeat(
        self,
        slot: Slot,
        count: int,
        axes: Sequence[tuple[int, int]] = (),
        least: int = 0,
        *,
        callers: int = 0,
        with_backward: bool = False,
        collect: bool = False,
        anew: bool = False,
    ) -> int:
        """Run the model's forward so many times, or its steps `with_backward`, by one thread, on what is in the slot;
        with `axes`, tensors and dimensions that are `least` long in the first call and one longer in each. With `anew`,
        each gets a copy. The first `callers` calls come from a new thread each. What is raised is passed over. The
        memory of the process that no other process shares, in bytes, with `collect` once garbage is collected; 0 where
        it is unknown."""
        request = protocol.CallRepeatedly(
            slot=slot.number,
            count=count,
            axes=tuple(axes),
            least=least,
            callers=callers,
            with_backward=with_backward,
            collect=collect,
            anew=anew,
        )
        return self.ask(request, CalledRepeatedly)[0].own_bytes

    def held(self, slot: Slot) -> Fetched:
        """What the call returned that was to be held, as it is now."""
        slot.poison()
        handed, _ = self.ask(protocol.HandOverHeld(slot=slot.number), HandedOver)
        return self._taken(slot, handed)

    def call_batch(self, slots: Sequence[Slot], model: str) -> float:
        """On the CPU: one call on each slot, each with memory for outputs of its own; seconds for all of them."""
        for slot in slots:
            slot.poison()
        request = protocol.TimeBatch(slots=tuple(slot.number for slot in slots), model=model, states=states_of(slots))
        batch, wall = self.ask(request, BatchCalled)
        if len(batch.calls) != len(slots):
            raise RunnerFault(FaultKind.FORGED, "the calls of a batch are not described")
        self._batch = batch.calls
        return wall

    def held_of_batch(self, slot: Slot, index: int) -> Fetched:
        """On the CPU: what a call of the last batch returned, as it is at the batch's end: all of them were held."""
        slot.poison()
        handed, _ = self.ask(protocol.FetchOutputs(index=index), HandedOver)
        self._batch = (*self._batch[:index], handed, *self._batch[index + 1 :])
        return self.fetch(slot, index)

    def look(self, slot: Slot, source: Slot, delay_s: float, *, hold: bool) -> None:
        """Run the model once on what is in `source`, copied in late; with `hold`, its other streams are held up."""
        slot.poison()
        delay_us = int(1e6 * delay_s)
        request = protocol.CallLate(slot=slot.number, source=source.number, delay_us=delay_us, hold=hold)
        self.ask(request, Acknowledged)

    def capture(self, slot: Slot) -> str:
        """What CUDA says when it is to record one call as a graph; nothing where it can. The runner's last call."""
        return self.ask(protocol.CaptureGraph(slot=slot.number), GraphCaptured)[0].said

    def forget(self, slots: Sequence[Slot]) -> None:
        """Have the runner let go of slots."""
        for slot in slots:
            self._late.pop(slot.number, None)
        self.ask(protocol.ForgetSlots(slots=tuple(slot.number for slot in slots)), Acknowledged)

    def observe(self, slot: Slot, *, form: protocol.CallForm = protocol.USUAL_FORM) -> dict[str, int]:
        """Run the model once and return PyTorch's operators it used with the elements of their largest tensor.

        What they allocate lies between guards. Raises `RunnerFault` where it was seen to write past bounds,
        or to leave its process otherwise than it found it."""
        slot.poison()
        request = protocol.CallModel(slot=slot.number, observe=True, form=form)
        called, _ = self.ask(request, ModelCalled)
        self._last = called.handed
        if called.operators is None:
            raise RunnerFault(FaultKind.FORGED, "operators are not described")
        _refuse_writes(called.written_outside)
        _refuse_changes("the call", called.changed)
        return dict(called.operators)

    def drop(self) -> None:
        """Let the runner free what the last call returned; on the CPU it has done so."""
        if self.place.is_gpu:
            self.ask(protocol.DropOutputs(), Acknowledged)

    def fetch(self, slot: Slot, index: int | None = None, *, copy: bool = True) -> Fetched:
        """Take what the last call returned, as a copy that the runner cannot change any more. Raises `RunnerFault`
        where something was written past the bounds of an input.

        `index` picks one call of a batch, of which others can be fetched after it. On the CPU the outputs lie here
        already, and the process that wrote them is stopped; without `copy` they are read where they lie."""
        wall = 0.0
        if not self.place.is_gpu:
            handed = self._last if index is None else self._batch[index]
        else:
            if index is not None:
                slot.outputs.poison()
            handed, wall = self.ask(protocol.FetchOutputs(index=index), HandedOver)
        if handed is None:
            raise RunnerFault(FaultKind.FORGED, "outputs are not described by a list")
        return self._taken(slot, handed, wall, copy=copy)

    def _taken(self, slot: Slot, handed: HandedOver, wall: float = 0.0, *, copy: bool = True) -> Fetched:
        """What was handed over in a slot's memory for outputs."""
        _refuse_writes(slot.written_outside())
        lying = slot.outputs.tensors[0]
        raw = None if not handed.written else lying.clone() if copy else lying
        self.place.synchronize()
        return Fetched(outputs=outputs_of(handed, raw), structure=handed.structure, wall_s=wall)


def states_of(slots: Sequence[Slot]) -> tuple[int, ...]:
    """The values that parameters are given before each call of a batch; none where they stay as they are."""
    numbers = tuple(slot.state for slot in slots if slot.state is not None)
    return numbers if len(numbers) == len(slots) else ()


def _refuse_writes(outside: str | None) -> None:
    """Raise `RunnerFault` where a call wrote past the bounds of a tensor."""
    if outside is not None:
        raise RunnerFault(FaultKind.FORGED, f"it wrote {outside}")


def _refuse_changes(when: str, changed: tuple[str, ...]) -> None:
    """Raise `RunnerFault` where modes of the process are not as they were."""
    if changed:
        raise left_changed(when, changed)


def _same_value(one: Output, other: Output) -> bool:
    """Whether two outputs hold the same bytes; those that cannot be read are judged elsewhere."""
    return one.value is None or (other.value is not None and same_bytes(one.value, other.value))
