"""Request and answer with a runner, on the referee's clock: the process runs only in between."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from services.domain.errors import InfrastructureError
from workers.ipc.freezer import Freezer, FreezerError
from workers.ipc.messages import MessageError
from workers.ipc.wire import Channel, Message, WireClosedError, WireError, WireTimeoutError
from workers.referee.boundary.slots import Slot
from workers.referee.errors import FaultKind, RunnerFault
from workers.runner.answers import ANSWERS, ENDED_FORWARD, RETURNED, ProfilerOutput, RunnerAnswer, RunnerError
from workers.runner.protocol import REQUESTS, RUNNING, RunnerRequest

A = TypeVar("A", bound=RunnerAnswer)

MOST_DELIVERIES = 64
"""Forward passes that one request makes at most."""
DELIVERED_RUNNING = 1 << 18
"""Bytes of cotangents up to which the process is not stopped while they are put in: that takes as long as stopping it
does, and is part of what the protocol costs."""
NOT_SENT = "a message that the runner did not send arrived on its connection"
LATEST_STOPS, STRIKES = 5, 3
"""So many of the latest stops in which something ran are no accident; fewer do not move a median."""


ExitReader = Callable[[], RunnerFault | InfrastructureError]
"""Reads how a runner ended: what explains why the connection is gone."""


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """How long an exchange took."""

    wall_s: float
    """From sending the request to the word that the model has returned, or to the end where there is none."""
    tail_s: float
    """From then until the process had stopped."""

    @property
    def whole_s(self) -> float:
        """Both."""
        return self.wall_s + self.tail_s


@dataclass(kw_only=True)
class TimeLimit:
    """How long processes may still take to answer. What the referee and others do in between is not counted."""

    left_s: float


class RunnerConnection:
    """The connection to one runner. Raises `RunnerFault` when the runner fails to do its part."""

    def __init__(
        self, channel: Channel, exit_reader: ExitReader, *, time_limit: TimeLimit, freezer: Freezer | None = None
    ) -> None:
        self._channel = channel
        self._exit_reader = exit_reader
        self._freezer = freezer
        self._ran: deque[bool] = deque(maxlen=LATEST_STOPS)
        """Of the latest stops, those in which something ran."""
        self._awake = 0
        """How many callers want the process to run between requests."""
        self._late: dict[int, Slot] = {}
        """Slots with inputs that are put in when a forward has ended."""
        self._keeps_early = False
        """Whether what a forward has handed over by then is kept."""
        self._early: torch.Tensor | None = None
        """What one has: bytes of its slot's outputs."""
        self.is_baseline = False
        """Whether the runner is the baselines' process."""
        self.time_limit = time_limit
        self.call_limit_s = 10.0
        self.calls: list[tuple[float, float]] = []
        """When the model ran: from each request to its answer, in seconds on the monotonic clock."""

    def exchange(
        self,
        request: RunnerRequest,
        expected: type[A],
        descriptors: Sequence[int] = (),
        *,
        limit_s: float | None = None,
    ) -> tuple[A, Exchange]:
        """Send a request; its answer, and how long that took. Raises `RunnerFault`."""
        started = time.monotonic()
        try:
            limit = self._limit(limit_s)
            token = secrets.token_hex(8)
            message, took = self._exchange(request, token, descriptors, limit)
            return _answer(message, token, expected), took
        except RunnerFault as fault:
            fault.of_baseline = self.is_baseline
            raise
        finally:
            self.time_limit.left_s -= time.monotonic() - started

    def _exchange(
        self, request: RunnerRequest, token: str, descriptors: Sequence[int], limit: float
    ) -> tuple[Message, Exchange]:
        """One request and its answer. The process runs from here to the end only: it is woken when the request is
        on its way, and what it still does after the answer is on the clock until it has stopped."""
        if self._freezer is not None and self._freezer.is_frozen:
            self._ran.append(not self._freezer.is_still())
            if sum(self._ran) >= STRIKES:
                raise RunnerFault(FaultKind.FORGED, "something in it ran while it was stopped, without being asked")
        try:
            return self._timed(request, token, descriptors, limit)
        except WireTimeoutError:
            if self._freezer is not None and not self._freezer.was_thawed():
                raise FreezerError("the candidate's processes were stopped and could not be woken") from None
            left = "" if limit < self.time_limit.left_s else ", all that was left of the evaluation's time"
            name = REQUESTS.name_of(request)
            raise RunnerFault(FaultKind.HUNG, f"`{name}` did not end within {limit:.1f} s{left}") from None
        except WireClosedError:
            raise self._exit_reader() from None
        except WireError as error:
            raise RunnerFault(FaultKind.FORGED, f"the runner's connection carried something else: {error}") from None

    def _timed(
        self, request: RunnerRequest, token: str, descriptors: Sequence[int], limit: float
    ) -> tuple[Message, Exchange]:
        freezer, returned = self._freezer, None
        body = {**REQUESTS.encode(request), "token": token}
        started = time.perf_counter()
        self._channel.send(body, descriptors, timeout_s=limit)
        if freezer is not None and freezer.is_frozen:
            freezer.thaw()
        message, paused = self._after_forward(token, limit)
        if _says_returned(message, token):
            returned = time.perf_counter()
            message = self._channel.receive(timeout_s=limit)
        if freezer is not None and not self._awake:
            freezer.freeze()
        ended = time.perf_counter()
        if isinstance(request, RUNNING):
            self.calls.append((started, ended))
        returned = ended if returned is None else returned
        return message, Exchange(wall_s=returned - started - paused, tail_s=ended - returned)

    def _after_forward(self, token: str, limit: float) -> tuple[Message, float]:
        """The first message that is no word of a forward's end, and the seconds in which the process was stopped."""
        paused = 0.0
        for _ in range(MOST_DELIVERIES):
            message = self._channel.receive(timeout_s=limit)
            slot = _ended_forward(message, token)
            if slot is None:
                return message, paused
            if slot not in self._late:
                raise RunnerFault(FaultKind.FORGED, "it reported the end of a forward pass that was not requested")
            paused += self._deliver(self._late[slot], token, limit)
        raise RunnerFault(FaultKind.FORGED, "it says again and again that a forward pass has ended")

    def _deliver(self, slot: Slot, token: str, limit: float) -> float:
        """Put the cotangents in and have the process continue; the seconds for which it was stopped, which no call is
        charged for and in which none works."""
        freezer = self._freezer if slot.late_bytes > DELIVERED_RUNNING and not self._awake else None
        if freezer is not None:
            freezer.freeze()
        began = time.perf_counter()
        if self._keeps_early:
            self._early = slot.outputs.raw.clone()
        slot.deliver()
        took = time.perf_counter() - began
        self._channel.send({"token": token}, timeout_s=limit)
        if freezer is None:
            return 0.0
        freezer.thaw()
        return took

    @contextlib.contextmanager
    def awake(self) -> Iterator[None]:
        """Let the process run between requests too, to see what it does without a request."""
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
        """Whether the process runs only during requests."""
        return self._freezer is not None

    def _limit(self, limit_s: float | None) -> float:
        limit = min(limit_s if limit_s is not None else self.call_limit_s, self.time_limit.left_s)
        if limit <= 0:
            raise RunnerFault(FaultKind.HUNG, "the evaluation's time limit was reached")
        return limit

    def profiler_output(self, *, limit_s: float) -> ProfilerOutput:
        """What a profiler wrote, which it sends at its end without being asked."""
        try:
            message = self._channel.receive(timeout_s=limit_s)
        except WireError as error:
            raise RunnerFault(FaultKind.FORGED, f"an announced message did not come: {error}") from None
        message.close()
        try:
            said = ANSWERS.decode_exactly(message.body)
        except MessageError as error:
            raise RunnerFault(FaultKind.FORGED, str(error)) from None
        if not isinstance(said, ProfilerOutput):
            raise RunnerFault(FaultKind.FORGED, "what a profiler wrote was announced, and something else came")
        return said

    def close(self) -> None:
        """Hang up."""
        self._channel.close()
        if self._freezer is not None:
            self._freezer.close()


def _answer(message: Message, token: str, expected: type[A]) -> A:
    """What a message answers to the request of a token. Raises `RunnerFault`."""
    message.close()
    body = {name: value for name, value in message.body.items() if name != "token"}
    genuine = message.body.get("token") == token and not message.descriptors
    try:
        answer = ANSWERS.decode_exactly(body)
    except MessageError as error:
        raise RunnerFault(FaultKind.FORGED, str(error) if genuine else NOT_SENT) from None
    if isinstance(answer, ProfilerOutput):
        raise RunnerFault(FaultKind.CRASHED, f"the profiler ended early: {answer.counters.strip()[-400:]}")
    if not genuine:
        raise RunnerFault(FaultKind.FORGED, NOT_SENT)
    if isinstance(answer, RunnerError):
        raise _raised(answer)
    if not isinstance(answer, expected):
        raise RunnerFault(FaultKind.FORGED, f"it answered `{ANSWERS.name_of(answer)}`, which was not requested")
    return answer


def _says_returned(message: Message, token: str) -> bool:
    """Whether a message says that the model has returned and that the answer follows."""
    said = RETURNED.items() <= message.body.items()
    return said and message.body.get("token") == token and not message.descriptors


def _ended_forward(message: Message, token: str) -> int | None:
    """The slot of a call whose forward has ended, where a message says that."""
    slot = message.body.get(ENDED_FORWARD)
    return slot if type(slot) is int and message.body.get("token") == token and not message.descriptors else None


def _raised(error: RunnerError) -> RunnerFault:
    kind = FaultKind.CRASHED if error.broken else FaultKind.MEMORY if error.memory else FaultKind.RAISED
    place = "" if error.line is None else f"candidate line {error.line}: "
    if error.changed and kind is FaultKind.RAISED:
        return left_changed(f"a call that raised an exception ({place}{error.text})", error.changed)
    return RunnerFault(kind, place + error.text)


def left_changed(when: str, changed: Sequence[str]) -> RunnerFault:
    """What is said where modes of a process are not as they were."""
    text = f"after {when}, {', '.join(dict.fromkeys(changed))} was not as before: put back what it changes"
    return RunnerFault(FaultKind.FORGED, text)
