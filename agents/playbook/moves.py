"""Optimisation moves: named steps from one schedule to the next, with what each should bring."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from random import Random

from agents.playbook.schedule import Scalar, Schedule
from services.domain.chat import MoveFact
from services.domain.devices import DeviceSheet

Parameters = tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True, kw_only=True)
class MoveTemplate:
    """A move the Planner can choose."""

    name: str
    parameters: Parameters
    """Fields of the schedule it sets."""
    reason: str
    """Why it should help, in one sentence."""
    gain: float
    """Expected latency ratio, old over new."""
    cures: frozenset[str] = frozenset()
    """Bottlenecks it is made for: `memory`, `compute`, `latency`."""

    def fact(self) -> MoveFact:
        """As a plan names it."""
        return MoveFact(name=self.name, parameters=self.parameters)


def repertoire(device: DeviceSheet | None) -> tuple[MoveTemplate, ...]:
    """The moves in their usual order: less traffic first, then more hands, then better instructions, then details."""
    units = device.units if device else 2
    wide = device is None or "avx512f" in device.instruction_set
    return (
        _move("fuse", "intermediate values stay in registers instead of memory", 3.0, "memory", fuse=True),
        _move("parallelise", f"rows are independent: use {units} cores", float(units), "compute", threads=0),
        _move(
            "vectorise",
            "independent lanes with polynomial exp, log, erf and tanh replace scalar calls",
            4.0,
            "compute",
            lanes=64,
            wide=wide,
        ),
        _move(
            "interleave_rows", "a running sum waits for itself: advance 8 rows together", 2.0, "latency", interleave=8
        ),
        _move("keep_row", "values of a later pass are kept, not computed again", 1.4, "compute", keep=True),
        _move("non_temporal", "outputs are not read again: write them past the cache", 1.3, "memory", stream=True),
        _move("unroll", "fewer lanes need fewer registers", 1.1, "compute", lanes=32),
        _move("tile_columns", "narrower column blocks keep their accumulators in L1", 1.1, "latency", columns=64),
        _move("prefetch", "ask for input lines before they are needed", 1.05, "memory", prefetch=512),
        _move("tile_rows", "larger pieces of work per thread", 1.05, "latency", tile=65536),
    )


def _move(name: str, reason: str, gain: float, cure: str, **parameters: Scalar) -> MoveTemplate:
    return MoveTemplate(
        name=name, reason=reason, gain=gain, cures=frozenset({cure}), parameters=tuple(parameters.items())
    )


SPACE: dict[str, tuple[Scalar, ...]] = {
    "lanes": (16, 32, 64, 128),
    "keep": (False, True),
    "stream": (False, True),
    "interleave": (2, 4, 8, 16, 32),
    "chunk": (16, 64, 256),
    "columns": (32, 64, 128, 256, 512, 1024),
    "tile": (2048, 4096, 8192, 16384, 32768, 65536, 262144),
    "prefetch": (0, 256, 512, 1024, 2048),
    "wide": (False, True),
}
"""What re-tuning searches, what matters most first."""


def path(base: Schedule, target: Schedule, moves: Iterable[MoveTemplate]) -> tuple[MoveTemplate, ...]:
    """The named moves, with their parameters, that lead from one schedule to another."""
    left = {name: value for name, value in asdict(target).items() if value != getattr(base, name)}
    steps: list[MoveTemplate] = []
    for move in moves:
        own = {name: getattr(target, name) for name, _ in move.parameters}
        if left.keys() & own.keys():
            steps.append(replace(move, parameters=tuple(own.items())))
            left = {name: value for name, value in left.items() if name not in own}
    if left:
        steps.append(tune(base, tuple(left.items())))
    return tuple(steps)


def tune(base: Schedule, changes: Parameters) -> MoveTemplate:
    """Other parameters, without a name of their own."""
    text = ", ".join(f"{name} {getattr(base, name)} → {value}" for name, value in changes)
    return MoveTemplate(name="tune", parameters=changes, reason=f"neighbouring parameters: {text}", gain=1.02)


def retunings(base: Schedule, seed: int, step: int) -> Iterable[MoveTemplate]:
    """Small changes of tunables around a schedule: every single neighbour in order, then endless pairs.

    The same for the same seed and step.
    """
    for name, choices in SPACE.items():
        place = min(range(len(choices)), key=lambda number: abs(int(choices[number]) - int(getattr(base, name))))
        for other in (place - 1, place + 1):
            if 0 <= other < len(choices) and choices[other] != getattr(base, name):
                yield tune(base, ((name, choices[other]),))
    random = Random(f"{seed}/{step}")  # noqa: S311 - a search, not a secret
    for _ in range(400):
        names = random.sample(sorted(SPACE), k=2)
        chosen = tuple((name, random.choice(SPACE[name])) for name in sorted(names))
        changes = tuple((name, value) for name, value in chosen if getattr(base, name) != value)
        if changes:
            yield tune(base, changes)
