"""Which figure of several input sets counts: a weighted geometric mean, the worst set, or one that is named.

An objective is a text, in a problem's file as `OBJECTIVE = "worst"` and on command lines alike:

    geometric_mean                       every input set counts alike (the default)
    geometric_mean:decode=4,warmup=0     weights by name; sets that are not named weigh 1, and 0 leaves one out
    worst                                the set with the smallest speedup
    set:decode                           one set alone
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from services.domain.evaluations import HeldOutResult, ObjectiveKind, ReportedObjective, ShapeResult
from services.domain.measurements import BASELINES, Baselines, Latency, Speedup

COMMON_SPREAD = 1.96 * 0.013
"""Half the width of the logarithm's 95 % interval that the sets of one measurement share: all are timed in the same
two processes, and two processes with one kernel differ by that much. More sets do not average it out."""
COLLAPSED = 0.8
"""Speedup on a held-out set below which a kernel that wins on the announced sets has collapsed, where the interval lies
below 1 too: no busy second accuses it."""
LEAST_US = 1e-3
"""In the place of a quantile that a difference of two clocks made zero or less, so that it has a logarithm."""
MOST_CHARACTERS = 4000
REMEDY = (
    "Write geometric_mean, geometric_mean:NAME=WEIGHT,…, worst, or set:NAME, with the names of input sets: get_inputs, "
    "functions of INPUT_SETS, entries of SHAPES."
)

Interval = tuple[float, float]


class ObjectiveError(ValueError):
    """A text is no objective, or does not fit the problem's input sets. The message says what is wrong."""


@dataclass(frozen=True, kw_only=True)
class Objective:
    """Which figure counts."""

    kind: ObjectiveKind = ObjectiveKind.GEOMETRIC_MEAN
    name: str | None = None
    """The set of `set:NAME`."""
    weights: dict[str, float] = field(default_factory=dict)
    """Weights of a geometric mean that are not 1, by name."""

    def weight(self, name: str) -> float:
        """A set's weight in a geometric mean."""
        return self.weights.get(name, 1.0)

    def check(self, names: Sequence[str]) -> None:
        """Raise `ObjectiveError` unless it names sets that there are, and something is left to be averaged."""
        for name in filter(None, (self.name, *self.weights)):
            if name not in names:
                shown = ", ".join(names[:8]) + (f", … ({len(names)} in all)" if len(names) > 8 else "")
                raise ObjectiveError(f"the objective names the input set {name!r}, and there are {shown}")
        if self.kind is ObjectiveKind.GEOMETRIC_MEAN and not any(self.weight(name) > 0 for name in names):
            raise ObjectiveError("the objective gives every input set the weight 0")


@dataclass(frozen=True, kw_only=True)
class Headline:
    """The figures that a report leads with."""

    latency: Latency
    baselines: Baselines
    speedup: Speedup
    objective: ReportedObjective


def parse(text: str) -> Objective:
    """The objective that a text writes; the default for an empty one. Raises `ObjectiveError`."""
    if len(text) > MOST_CHARACTERS:
        raise ObjectiveError(f"the objective has {len(text)} characters; {MOST_CHARACTERS} are allowed")
    kind, colon, rest = (part.strip() for part in (text or ObjectiveKind.GEOMETRIC_MEAN).partition(":"))
    if kind == ObjectiveKind.WORST and not colon:
        return Objective(kind=ObjectiveKind.WORST)
    if kind == ObjectiveKind.SET and rest:
        return Objective(kind=ObjectiveKind.SET, name=rest)
    if kind == ObjectiveKind.GEOMETRIC_MEAN and bool(colon) == bool(rest):
        return Objective(weights=_weights(rest))
    raise ObjectiveError(f"{text[:200]!r} is no objective")


def headline(objective: Objective, shapes: Sequence[ShapeResult], held_out: Sequence[HeldOutResult] = ()) -> Headline:
    """The figures that count, of at least one input set's. A kernel that collapses on a held-out set has that one's
    speedup, so whatever ranks by it ranks it last."""
    if objective.kind is ObjectiveKind.GEOMETRIC_MEAN:
        found = _mean([one for one in shapes if one.weight > 0])
    elif objective.kind is ObjectiveKind.WORST:
        found = _worst(shapes)
    else:
        found = _of(next(one for one in shapes if one.name == objective.name), ObjectiveKind.SET)
    fallen = _collapsed(found, held_out)
    if fallen is None:
        return found
    return replace(found, speedup=fallen.speedup, objective=replace(found.objective, collapse=_told(found, fallen)))


def described(objective: ReportedObjective | None) -> str:
    """What a report's figures are of, in words; empty where there is one input set only, or nothing is known."""
    if objective is None or (objective.sets == 1 and objective.kind is not ObjectiveKind.SET):
        return ""
    if objective.kind is ObjectiveKind.GEOMETRIC_MEAN:
        return f"geometric mean over {objective.sets} input sets"
    if objective.kind is ObjectiveKind.WORST:
        return f"worst of {objective.sets} input sets, {objective.input_set}"
    return f"input set {objective.input_set}"


def _weights(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (piece.strip() for piece in part.rpartition("="))
        try:
            weight = float(value)
        except ValueError:
            weight = math.nan
        if not name or not 0 <= weight < math.inf:
            raise ObjectiveError(f"{part[:100]!r} is no NAME=WEIGHT with a weight of 0 or more")
        if name in found:
            raise ObjectiveError(f"the objective weighs {name!r} twice")
        found[name] = weight
    return found


def _of(one: ShapeResult, kind: ObjectiveKind, sets: int = 1) -> Headline:
    told = ReportedObjective(kind=kind, sets=sets, input_set=one.name)
    return Headline(latency=one.latency, baselines=one.baselines, speedup=one.speedup, objective=told)


def _worst(shapes: Sequence[ShapeResult]) -> Headline:
    """The set with the smallest speedup. Its interval reaches from the lowest end of all to the lowest upper one: any
    set whose interval overlaps may be the worst."""
    found = _of(min(shapes, key=_speedup), ObjectiveKind.WORST, len(shapes))
    ends = [one.speedup.ci95 for one in shapes if one.speedup.ci95 is not None]
    if not ends:
        return found
    interval = (min(low for low, _ in ends), min(high for _, high in ends))
    return replace(found, speedup=replace(found.speedup, ci95=interval))


def _speedup(one: ShapeResult) -> float:
    return one.speedup.best_baseline or 0.0


def _mean(shapes: Sequence[ShapeResult]) -> Headline:
    """The weighted geometric mean; of one set its own figures."""
    if len(shapes) == 1:
        return replace(_of(shapes[0], ObjectiveKind.GEOMETRIC_MEAN), objective=_over(1))
    weights = [one.weight / sum(each.weight for each in shapes) for one in shapes]
    latencies = _mean_latency([one.latency for one in shapes], weights)
    assert latencies is not None
    baselines = {name: _mean_latency([getattr(one.baselines, name) for one in shapes], weights) for name in BASELINES}
    ratios: dict[str, Any] = {
        name: _mean_value([getattr(one.speedup, name) for one in shapes], weights)
        for name in (*BASELINES, "best_baseline")
    }
    interval = _mean_interval(
        [one.speedup.best_baseline for one in shapes], [one.speedup.ci95 for one in shapes], weights, COMMON_SPREAD
    )
    return Headline(
        latency=latencies,
        baselines=Baselines(**baselines),
        speedup=replace(Speedup(**ratios), ci95=interval),
        objective=_over(len(shapes)),
    )


def _over(sets: int) -> ReportedObjective:
    return ReportedObjective(kind=ObjectiveKind.GEOMETRIC_MEAN, sets=sets)


def _mean_value(values: Sequence[float | None], weights: Sequence[float]) -> float | None:
    """None where a value is missing: a mean over some of the sets would be of something else."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return math.exp(math.fsum(w * math.log(max(value, LEAST_US)) for w, value in zip(weights, known, strict=True)))


def _mean_interval(
    values: Sequence[float | None],
    intervals: Sequence[Interval | None],
    weights: Sequence[float],
    common: float = 0.0,
) -> Interval | None:
    """The mean's 95 % interval: relative errors of the sets are independent, so their squares add up; `common` is the
    share that is not."""
    value = _mean_value(values, weights)
    if value is None or any(one is None or one[0] <= 0 for one in intervals):
        return None
    known = [(v, one) for v, one in zip(values, intervals, strict=True) if v is not None and one is not None]
    down = math.hypot(
        common, *(w * math.log(max(v, LEAST_US) / low) for w, (v, (low, _)) in zip(weights, known, strict=True))
    )
    up = math.hypot(
        common, *(w * math.log(high / max(v, LEAST_US)) for w, (v, (_, high)) in zip(weights, known, strict=True))
    )
    return value * math.exp(-down), value * math.exp(up)


def _mean_latency(found: Sequence[Latency | None], weights: Sequence[float]) -> Latency | None:
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None

    def mean(figure: Callable[[Latency], float]) -> float:
        return _mean_value([figure(one) for one in known], weights) or 0.0

    medians, intervals = [one.median_us for one in known], [one.ci95_us for one in known]
    interval = _mean_interval(medians, intervals, weights)
    modes = {one.mode for one in known}
    return Latency(
        median_us=mean(lambda one: one.median_us),
        mean_us=mean(lambda one: one.mean_us),
        p10_us=mean(lambda one: one.p10_us),
        p90_us=mean(lambda one: one.p90_us),
        ci95_us=interval or (mean(lambda one: one.ci95_us[0]), mean(lambda one: one.ci95_us[1])),
        samples=sum(one.samples for one in known),
        mode=modes.pop() if len(modes) == 1 else None,
    )


def _collapsed(found: Headline, held_out: Iterable[HeldOutResult]) -> HeldOutResult | None:
    """The held-out set on which a kernel collapses that wins on the announced ones; of several the slowest."""
    if (found.speedup.best_baseline or 0.0) <= 1.0:
        return None
    slower = [one for one in held_out if one.speedup.ci95 is not None and one.speedup.ci95[1] < 1.0]
    worst = min(slower, key=lambda one: one.speedup.best_baseline or 0.0, default=None)
    return worst if worst is not None and (worst.speedup.best_baseline or 0.0) < COLLAPSED else None


def _told(found: Headline, fallen: HeldOutResult) -> str:
    low, high = fallen.speedup.ci95 or (0.0, 0.0)
    return (
        f"{found.speedup.best_baseline:.2f}× the fastest baseline on the announced input sets, and "
        f"{fallen.speedup.best_baseline:.2f}× ({low:.2f}–{high:.2f}) on held-out input set {fallen.number}"
    )
