"""Draws that are made while something else is waited for."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from workers.ipc.placement import TensorDevice
from workers.referee.inputs import schedule
from workers.referee.inputs.distributions import OWN, TELLING, Distribution
from workers.referee.inputs.schedule import LEAST_DRAWS, TIMED_DRAWS, Preparation


class Draws:
    """One input set of one number, which counts its draws."""

    set_numbers = range(1)

    def __init__(self) -> None:
        self.place = TensorDevice()
        self.names: list[str] = []

    def draw(self, _number: int, distribution: Distribution) -> list[Any]:
        self.names.append(distribution.name)
        return [torch.full((4,), float(len(self.names)))]


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is one second later each time."""
    clock = itertools.count()
    monkeypatch.setattr("workers.referee.inputs.schedule.time.monotonic", lambda: float(next(clock)))


@pytest.mark.usefixtures("ticks")
def test_further_draws_are_made_while_there_is_time_and_each_is_given_out_once() -> None:
    draws = Draws()
    preparation = Preparation(draws, lambda _number: [TELLING[0]])
    preparation.prepare(until=3.0)
    planned = LEAST_DRAWS + TIMED_DRAWS
    assert len(draws.names) == planned + 3
    own = draws.names.count(OWN.name)
    given = [float(preparation.draw(0, OWN)[0][0]) for _ in range(own)]
    assert len(set(given)) == own
    assert len(draws.names) == planned + 3
    preparation.draw(0, OWN)
    assert len(draws.names) == planned + 4


@pytest.mark.usefixtures("ticks")
def test_no_more_is_drawn_than_memory_is_meant_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "MOST_BYTES", 40)
    draws = Draws()
    Preparation(draws, lambda _number: [TELLING[0]]).prepare(until=9.0)
    assert len(draws.names) == 3
