"""Which draws a candidate will be tried on, and drawing them while something else is waited for.

Every candidate gets draws of its own, under seeds that only the referee ever holds.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import flatten
from workers.referee.inputs.distributions import OWN, TELLING, Distribution

LEAST_DRAWS = 5
TIMED_DRAWS = 5
"""Further draws of each open input set: for the timed pool, and for looking at idle work and derived shapes."""
MOST_FURTHER = 64
"""Draws of the first input set beyond these."""
MOST_BYTES = 384 << 20
"""Memory for draws made beforehand; the rest are drawn when they are needed."""


class SetOfDraws(Protocol):
    """What draws are made of."""

    @property
    def place(self) -> TensorDevice:
        """Where tensors are."""

    @property
    def set_numbers(self) -> Sequence[int]:
        """The open input sets."""

    def draw(self, number: int, distribution: Distribution) -> list[Any]:
        """Fresh arguments."""


def plan(usable: list[Distribution], number: int) -> list[Distribution]:
    """The draws of an open input set that have to be right, of the kinds of values that are tried on it."""
    if number != 0:
        return usable
    again = [one for one in TELLING[:1] if one in usable]  # a spike may lie where a cheat looks, by chance
    return [OWN] * max(0, LEAST_DRAWS - len(usable) - len(again)) + usable + again


class Preparation:
    """Arguments drawn beforehand, each given out once."""

    def __init__(self, state: SetOfDraws, usable: Callable[[int], list[Distribution]]) -> None:
        """`usable` tells the kinds of values that are tried on an input set."""
        self._state, self._usable = state, usable
        self._ready: dict[tuple[int, str], list[list[Any]]] = defaultdict(list)
        self._bytes = 0

    def prepare(self, until: float = 0.0) -> None:
        """Draw what the gates will ask for, as far as memory goes, and until a time of `time.monotonic` what timed
        calls get. On a GPU, which may be another's now, nothing."""
        if self._state.place.is_gpu:
            return
        for number in self._state.set_numbers:
            for distribution in [*plan(self._usable(number), number), *[OWN] * TIMED_DRAWS]:
                self._prepare(number, distribution)
        for _ in range(MOST_FURTHER):
            if time.monotonic() >= until:
                return
            self._prepare(self._state.set_numbers[0], OWN)

    def _prepare(self, number: int, distribution: Distribution) -> None:
        if self._bytes > MOST_BYTES:
            return
        arguments = self._state.draw(number, distribution)
        self._bytes += sum(tensor.numel() * tensor.element_size() for tensor in flatten(arguments))
        self._ready[number, distribution.name].append(arguments)

    def draw(self, number: int, distribution: Distribution) -> list[Any]:
        """Arguments for an input set that nothing has been tried on."""
        ready = self._ready[number, distribution.name]
        return ready.pop() if ready else self._state.draw(number, distribution)
