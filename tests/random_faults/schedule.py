"""What happens to an installation, drawn from a seed: jobs, and orchestrators' lives with faults in them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What goes wrong."""

    KILL = "process killed"
    STALL = "process suspended past its leases"
    DATABASE = "database away"
    LOST_ANSWER = "commit without an answer"
    BROKER = "broker away"
    CLOCK = "clock jumps ahead"
    DISK = "disk full"


PORTS = {
    Kind.DATABASE: frozenset({"jobs", "candidates", "events", "memory", "checkpoints"}),
    Kind.LOST_ANSWER: frozenset({"jobs", "candidates", "events", "memory", "checkpoints"}),
    Kind.BROKER: frozenset({"queue"}),
    Kind.DISK: frozenset({"artefacts"}),
}
"""Whose operations a fault concerns; those that are not named concern any."""
OPERATIONS = 130
"""About as many operations as a job of two steps has."""
MOST_JUMP_S = 40.0


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that goes wrong."""

    kind: Kind
    at: int
    """From this operation of the orchestrator on, counted over all its jobs."""
    times: int = 1
    """How many operations it concerns; a kill concerns all that follow."""
    seconds: float = 0.0
    """Of a clock's jump."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """What happens under a seed."""

    seed: int
    jobs: int
    """Spread over two teams."""
    lives: tuple[tuple[Fault, ...], ...]
    """The faults of one orchestrator after another; one without faults follows."""


def drawn(seed: int) -> Schedule:
    """The schedule of a seed."""
    chance = random.Random(seed)
    jobs = chance.randint(1, 3)
    lives = tuple(
        tuple(_fault(chance, OPERATIONS * jobs) for _ in range(chance.randint(1, 3)))
        for _ in range(chance.randint(1, 4))
    )
    return Schedule(seed=seed, jobs=jobs, lives=lives)


def _fault(chance: random.Random, operations: int) -> Fault:
    kind = chance.choice(list(Kind))
    times = 1 if kind in {Kind.STALL, Kind.CLOCK, Kind.BROKER} else chance.randint(1, 4)
    return Fault(kind=kind, at=chance.randrange(operations), times=times, seconds=chance.uniform(1, MOST_JUMP_S))
