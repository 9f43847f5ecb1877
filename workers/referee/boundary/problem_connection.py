"""Request and answer with the process that holds the problem, which runs only in between.

No byte of an answer is trusted: what arrives is copied before it is looked at, and bounded before it is copied.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from services.domain.codec import CodecError, from_data, to_data
from services.domain.errors import InfrastructureError
from workers.ipc.freezer import Freezer
from workers.ipc.messages import MessageError
from workers.ipc.packed import Packed
from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import DataError, Shared, TensorMeta, encode
from workers.ipc.wire import Channel, Message, WireClosedError, WireError, WireTimeoutError
from workers.referee.boundary import problem_messages as messages
from workers.referee.boundary.worker_messages import StepBegun
from workers.referee.errors import Refused

A = TypeVar("A", bound=messages.ProblemAnswer)
STEP_LIMIT_S = messages.LONGEST_S + 5.0
"""For each step of an answer; the process ends itself before, and says where it hangs."""
LEAST_BLOCK = 1 << 20
KEPT_BLOCK = 256 << 20
"""Larger blocks are given back at once."""
WRONG = "the problem's process answered something else than was asked: {}"
WRONG_REMEDY = "Leave the process that runs the problem alone: its messages are not the problem's to write."


class ProblemTalkError(Exception):
    """The process broke the protocol; what it says from now on cannot be interpreted. `refused` has the reason."""

    def __init__(self, refused: Refused) -> None:
        self.refused = refused
        super().__init__(refused.reason)


class ProblemLostError(Exception):
    """The process ended, or does not answer. Attributes: `hung`, and `step`, what it had begun."""

    def __init__(self, step: StepBegun | None, *, hung: bool) -> None:
        self.hung = hung
        self.step = step
        super().__init__("the problem's process is gone")


@dataclass(frozen=True, kw_only=True)
class Received:
    """HandedValues that came with an answer."""

    data: Any
    """As `workers.ipc.tensors.structure` says it."""
    tensors: tuple[torch.Tensor, ...]


class ProblemConnection:
    """The connection to one such process. Raises `Refused`, `ProblemTalkError`, `ProblemLostError` and
    `InfrastructureError`."""

    def __init__(
        self,
        channel: Channel,
        freezer: Freezer | None,
        place: TensorDevice,
        progress: Callable[[str, int | None], None],
        *,
        most_bytes: int | None,
    ) -> None:
        """`progress` is called at each step; `most_bytes` bounds what is handed over with one answer."""
        self._channel = channel
        self._freezer = freezer
        self._place = place
        self._progress = progress
        self._most_bytes = most_bytes
        self._block: Shared | None = None
        self._unknown_block = False
        """Whether the process does not know the block yet."""

    def ask(
        self, request: messages.ProblemRequest, expected: type[A], value: Any = None, *, gives: bool = False
    ) -> tuple[A, Received]:
        """Send a request, with `value` where it `gives` one; returns the answer, and what came with it."""
        body = messages.REQUESTS.encode(request)
        if gives:
            tensors: list[torch.Tensor] = []
            data = encode(value, tensors)
            packed = Packed.of(tensors)
            self._make_room(packed.size)
            packed.write(self._raw(), tensors)
            body["values"] = to_data(messages.HandedValues(data=data, packed=packed))
            self._place.synchronize()
        self._send(body)
        answer, message = self._answer()
        received = self._received(message.body)
        if self._freezer is not None:
            self._freezer.freeze()
        if isinstance(answer, messages.ProblemRefused):
            raise Refused(answer.reason, answer.remedy, answer.line)
        if isinstance(answer, messages.ProblemFailed):
            raise InfrastructureError(answer.reason)
        if not isinstance(answer, expected):
            raise wrong(f"`{messages.ANSWERS.name_of(answer)}`")
        return answer, received

    def close(self) -> None:
        """Hang up."""
        self._channel.close()
        if self._freezer is not None:
            self._freezer.close()
        if self._block is not None:
            self._block.close()
            self._block = None

    def _send(self, body: Mapping[str, Any]) -> None:
        block = self._block
        descriptors: tuple[int, ...] = ()
        if self._unknown_block:
            given = messages.BlockGiven(size=0, handle={})
            if block is not None:
                given, descriptors = messages.BlockGiven(size=block.raw.numel(), handle=block.handle), block.descriptors
            body, self._unknown_block = {**body, "block": to_data(given)}, False
        try:
            self._channel.send(body, descriptors, timeout_s=STEP_LIMIT_S)
        except WireError:
            raise ProblemLostError(None, hung=False) from None
        if self._freezer is not None and self._freezer.is_frozen:
            self._freezer.thaw()

    def _answer(self) -> tuple[messages.ProblemAnswer, Message]:
        """The answer, after any number of steps and, once, a larger block."""
        step: StepBegun | None = None
        started = time.monotonic()
        while True:
            try:
                message = self._channel.receive(timeout_s=max(0.1, started + STEP_LIMIT_S - time.monotonic()))
                message.close()
                answer = messages.ANSWERS.decode(message.body)
            except WireTimeoutError:
                raise ProblemLostError(step, hung=True) from None
            except WireClosedError:
                raise ProblemLostError(step, hung=False) from None
            except (MessageError, WireError) as error:
                raise wrong(error) from None
            if isinstance(answer, StepBegun):
                step, started = answer, time.monotonic()
                self._progress(answer.what, answer.line)
            elif isinstance(answer, messages.RoomWanted):
                self._make_room(answer.size)
                self._send({})
            else:
                return answer, message

    def _make_room(self, size: int) -> None:
        """See that the block holds so many bytes. Raises `ProblemTalkError` for more than a process may use."""
        if size <= self._raw().numel():
            return
        if self._most_bytes is not None and size > self._most_bytes:
            reason = f"the problem hands over {size >> 20} MiB at once, of {self._most_bytes >> 20} MiB that there are"
            raise ProblemTalkError(Refused(reason, "Make the problem smaller, or give workers more memory."))
        if self._block is not None:
            self._block.close()
        self._block = self._place.allocate([TensorMeta(dtype="uint8", shape=(max(LEAST_BLOCK, size),))])
        self._unknown_block = True

    def _received(self, body: Mapping[str, Any]) -> Received:
        """Copies of what came with an answer. Raises `ProblemTalkError`."""
        if "values" not in body:
            return Received(data=None, tensors=())
        try:
            values = from_data(messages.HandedValues, body["values"])
            tensors = tuple(values.packed.read(self._raw()))
        except (CodecError, DataError) as error:
            raise wrong(error) from None
        self._place.synchronize()
        return Received(data=values.data, tensors=tensors)

    def give_back_large(self) -> bool:
        """Let go of a large block; returns whether the process has to be notified."""
        if self._block is None or self._block.raw.numel() <= KEPT_BLOCK:
            return False
        self._block.close()
        self._block, self._unknown_block = None, True
        return True

    def _raw(self) -> torch.Tensor:
        return torch.empty(0, dtype=torch.uint8) if self._block is None else self._block.raw


def wrong(what: object) -> ProblemTalkError:
    """The process answered something that is no answer to its request."""
    return ProblemTalkError(Refused(WRONG.format(what), WRONG_REMEDY))
