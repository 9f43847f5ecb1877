"""The order in which schedules are tried: what is remembered, then the opening, then details that the figures support
and that memory values.

Measurements are noisy, and the search should take the same way in every run: differences below `NOISE` count as none,
and among candidates that are equally fast the earliest is refined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import combinations

from agents.playbook.moves import MoveTemplate, path, repertoire, retunings
from agents.playbook.remembered import experienced, outpaced, worth
from agents.playbook.schedule import Schedule, read
from services.domain.chat import AttemptFact, Facts
from services.domain.problems import TensorSpec
from services.domain.ratios import paced_us

NOISE = 0.03
"""Relative differences of latencies that mean nothing."""
WORTH = 1.03
"""A move that cannot gain this much by the figures is not tried."""
OPENING = ("fuse", "vectorise", "parallelise", "interleave_rows")
BYTES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "bfloat16": 2, "float16": 2, "int16": 2}

Steps = tuple[MoveTemplate, ...]


def options(facts: Facts, base: Schedule) -> Iterator[Steps]:
    """Moves to try next from a schedule, best first; several together where one alone cannot show its gain."""
    moves, slow = sensible(facts), outpaced(facts)
    known = experienced(facts, faster_than=_speedup(facts.start_point))
    if known is not None:
        yield path(base, known, repertoire(facts.device))
    if facts.start_point is not None and facts.start_point.from_compiler:
        yield tuple(move for move in moves if move.name in OPENING)  # a rival is known: the whole opening at once
    for steps in _all(facts, base, moves):
        if base.apply([move.fact() for move in steps]) not in slow:
            yield steps


def _all(facts: Facts, base: Schedule, moves: list[MoveTemplate]) -> Iterator[Steps]:
    yield from _openings([move for move in moves if move.name in OPENING and not _applied(move, base)])
    details = [move for move in moves if move.name not in OPENING and not _applied(move, base)]
    yield from ((move,) for move in details)
    yield from _small_gains(facts, base, details)
    yield from ((move,) for move in retunings(base, facts.seed, facts.step))


def _openings(missing: list[MoveTemplate]) -> Iterator[Steps]:
    """Fusion first; then vectors and threads together, because each hides the other's gain; then one by one."""
    fuse = [move for move in missing if move.name == "fuse"]
    if fuse:
        yield (fuse[0],)
    yield tuple(missing)
    for count in range(len(missing) - 1, 0, -1):
        yield from combinations(missing, count)


def _small_gains(facts: Facts, base: Schedule, details: list[MoveTemplate]) -> Iterator[Steps]:
    """Details that were each a little faster than the base, but within the noise: together they may not be."""
    known = {
        schedule: median
        for attempt in facts.attempts
        if (schedule := read(attempt.source)) is not None and (median := latency(attempt)) is not None
    }
    own = known.get(base)
    if own is None:
        return
    good = [move for move in details if known.get(base.apply([move.fact()]), own) < own * (1 - NOISE / 6)]
    if len(good) > 1:
        yield tuple(good)


def _applied(move: MoveTemplate, base: Schedule) -> bool:
    """Whether a schedule has what a move brings, be it with other parameters."""
    plain = asdict(Schedule())
    return all(getattr(base, name) != plain[name] for name, _ in move.parameters[:1]) and move.name != "unroll"


def sensible(facts: Facts) -> list[MoveTemplate]:
    """The moves that can gain something on this problem by its figures: the opening, then what should gain most."""
    moves = [move for move in repertoire(facts.device) if _gain(facts, move) >= WORTH]
    cure, learned = bottleneck(facts), worth(facts)

    def rank(move: MoveTemplate) -> tuple[bool, float]:
        share = 1.0 if cure is None or cure in move.cures else 0.5
        if move.name in OPENING:
            return False, 0.0
        return True, -share * (_gain(facts, move) - 1.0) - learned.get(move.name, 0.0)

    return sorted(moves, key=rank)


def _gain(facts: Facts, move: MoveTemplate) -> float:
    """What a move can bring at most."""
    analysis, device = facts.analysis, facts.device
    if move.name == "parallelise":
        return float(device.units) if device else move.gain
    if move.name == "interleave_rows":
        return move.gain if analysis.family == "scan" else 1.0
    if move.name == "non_temporal":
        if device is not None and analysis.bytes_moved <= device.cache_bytes // 2:
            return 1.0
        return 1.0 + written(facts) / max(analysis.bytes_moved, 1)
    return move.gain


def written(facts: Facts) -> int:
    """Bytes of the outputs; an ordinary store reads the line first, so that they travel twice."""
    names = set(facts.analysis.outputs)
    return sum(size(spec) for item in facts.analysis.operators for spec in item.outputs if spec.name in names)


def size(spec: TensorSpec) -> int:
    """Bytes of a tensor."""
    return spec.elements * BYTES.get(spec.dtype, 1)


def gap(facts: Facts) -> float | None:
    """How many times the roofline floor the start point takes: on the first of several input sets, which it is of."""
    report = facts.start_point.report if facts.start_point else None
    if report is not None and len(report.shapes) > 1:
        return 1 / report.roofline.fraction if report.roofline is not None and report.roofline.fraction > 0 else None
    median = latency(facts.start_point)
    return median / facts.analysis.floor_us if median is not None and facts.analysis.floor_us > 0 else None


CURED_AS = {
    "scalar": "compute", "neither": "compute", "imbalance": "compute", "library": "compute", "page_faults": "memory",
    "overhead": "latency",
}  # fmt: skip
"""Causes that samples name, and the class by which moves say what they cure."""


def bottleneck(facts: Facts) -> str | None:
    """What to work against: a memory-bound problem far from its floor is not yet bound by memory."""
    report = facts.start_point.report if facts.start_point else None
    if report is None:
        return None
    if report.profile is not None and report.profile.bottleneck and report.profile.source != "none":
        return CURED_AS.get(report.profile.bottleneck, report.profile.bottleneck)
    far = (gap(facts) or 1.0) > 2.0
    return "compute" if far else (report.roofline.bound if report.roofline else None)


def latency(attempt: AttemptFact | None) -> float | None:
    """Median microseconds of an accepted attempt, comparable with others'."""
    return paced_us(attempt.report) if attempt else None


def _speedup(attempt: AttemptFact | None) -> float:
    """Speedup that a remembered kernel must promise: more than the start point's, where that was accepted."""
    report = attempt.report if attempt else None
    return (1 + NOISE) * (report.speedup.best_baseline or 0.0) if report is not None and report.accepted else 0.0


def start(facts: Facts) -> AttemptFact | None:
    """The strategy's start point; where that is the fastest so far, the earliest one as fast within the noise.

    The compiler's code has no schedule to change: beside it goes a line of our own, from the fastest of its kernels."""
    if facts.start_point is not None and facts.start_point.from_compiler:
        own = [item for item in facts.attempts if latency(item) is not None and read(item.source) is not None]
        return min(own, key=lambda item: latency(item) or 0.0, default=facts.start_point)
    chosen = latency(facts.start_point)
    times = [(attempt, median) for attempt in facts.attempts if (median := latency(attempt)) is not None]
    if chosen is None or any(median < chosen for _, median in times):
        return facts.start_point
    alike = (attempt for attempt, median in times if median <= chosen * (1 + NOISE) and attempt.candidate_id)
    return next(alike, facts.start_point)
