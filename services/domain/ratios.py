"""Speedups from measurements that were not interleaved with each other."""

from __future__ import annotations

import math
from dataclasses import replace

from services.domain.evaluations import EvaluationReport
from services.domain.gates import GateName
from services.domain.measurements import BASELINES, Baselines, Latency, SeedFigures, gain_of


def ratio_bounds(baseline: Latency, latency: Latency) -> tuple[float, float] | None:
    """Bounds of a ratio of medians from the 95 % intervals of both: wider than a paired interval would be.

    None where a measurement is too short to divide by."""
    if min(latency.ci95_us[0], baseline.median_us) <= 0:
        return None
    return baseline.ci95_us[0] / latency.ci95_us[1], baseline.ci95_us[1] / latency.ci95_us[0]


def baseline_bounds(report: EvaluationReport, name: str) -> tuple[float, float] | None:
    """Bounds of a report's speedup over the baseline `eager`, `compile` or `compile_max`.

    The interleaved pair's where this baseline was in it. Where another one was, the speedup is the pair's times what
    the two baselines took by themselves, and its bounds are as wide as all three intervals together."""
    speedup, latency = report.speedup, report.latency
    value: float | None = getattr(speedup, name)
    baseline: Latency | None = getattr(report.baselines, name)
    if value is None or baseline is None or latency is None:
        return None
    pair, rival = speedup.ci95, _rival(report)
    if pair is None or rival is None:
        return ratio_bounds(baseline, latency)
    if rival == name:
        return pair
    beside = ratio_bounds(baseline, getattr(report.baselines, rival))
    return None if beside is None else (pair[0] * beside[0], pair[1] * beside[1])


def eager_bounds(report: EvaluationReport) -> tuple[float, float] | None:
    """Bounds of a report's speedup over eager mode."""
    return baseline_bounds(report, "eager")


def paired_time(report: EvaluationReport | None) -> float | None:
    """What candidates of a job are ranked by, lower is better: the share of its fastest baseline's time that an
    accepted candidate takes, as the pairs showed it. None for anything else.

    Never a latency that goes through a baseline measured by itself: where that one is measured anew in the middle of a
    job, what was judged before and after it would change places. The median, in microseconds, where a report has no
    pair; reports of one job have the same baselines."""
    if report is None or not report.accepted or report.latency is None:
        return None
    return 1.0 / report.speedup.best_baseline if report.speedup.best_baseline else report.latency.median_us


def paced_us(report: EvaluationReport | None) -> float | None:
    """Median microseconds of an accepted candidate at the pace of its baseline, for texts; None for anything else.

    What the baseline in the pair takes by itself, over the speedup measured in turns with it: that of the report's
    latency, with the machine's mood of those seconds taken out. On two shared cores latencies of one kernel differ by
    8 to 10 % from one sitting to the next, these by 3 to 4 % (`benchmarks/timing_spread.py`)."""
    if report is None or not report.accepted or report.latency is None:
        return None
    rival = _rival(report)
    beside: Latency | None = getattr(report.baselines, rival) if rival is not None else None
    if beside is None or not report.speedup.best_baseline:
        return report.latency.median_us
    return beside.median_us / report.speedup.best_baseline


def contradicts(first: EvaluationReport, second: EvaluationReport) -> bool:
    """Whether two measurements of one kernel cannot both be right: the 95 % intervals of their speedups are apart."""
    if first.collapses != second.collapses:  # figures of other input sets
        return False
    one, other = first.speedup.ci95, second.speedup.ci95
    return one is not None and other is not None and (one[1] < other[0] or other[1] < one[0])


def widened(report: EvaluationReport, other: EvaluationReport) -> EvaluationReport:
    """A report whose speedup's interval covers that of another measurement of the kernel too, and says so."""
    own, beside = report.speedup.ci95, other.speedup.ci95
    if own is None or beside is None:
        return report
    speedup = replace(report.speedup, ci95=(min(own[0], beside[0]), max(own[1], beside[1])))
    told = (
        f"two measurements of this kernel contradict each other ({own[0]:.2f} to {own[1]:.2f} here, {beside[0]:.2f} to "
        f"{beside[1]:.2f} in the other): the interval covers both"
    )
    gates = tuple(
        replace(gate, detail="; ".join(filter(None, (gate.detail, told)))) if gate.name is GateName.TIMING else gate
        for gate in report.gates
    )
    return replace(report, speedup=speedup, gates=gates, gain=gain_of(speedup))


def _rival(report: EvaluationReport) -> str | None:
    """The baseline that a candidate was measured in turns with."""
    found = report.speedup
    if found.best_baseline is None:
        return None
    return next((each for each in BASELINES if getattr(found, each) == found.best_baseline), None)


def seed_figures(report: EvaluationReport | None) -> SeedFigures | None:
    """What later candidates are compared with, of the report on a job's seed; None unless it was accepted and timed."""
    if report is None or not report.accepted or report.latency is None:
        return None
    return SeedFigures(latency=report.latency, baselines=report.baselines, speedup=report.speedup)


def with_seed(report: EvaluationReport, seed: SeedFigures | None) -> EvaluationReport:
    """The report with the candidate's speedup over the seed, where both were timed.

    Both were interleaved with a baseline. Where it was the same one, its speedups are divided, which takes the
    machine's moods out; else the medians are."""
    if seed is None or report.latency is None or min(report.latency.ci95_us[0], seed.latency.ci95_us[0]) <= 0:
        return report
    value, bounds = _over_baseline(report, seed) or (
        seed.latency.median_us / report.latency.median_us,
        ratio_bounds(seed.latency, report.latency),
    )
    return replace(report, speedup=replace(report.speedup, seed=value, seed_ci95=bounds))


def _over_baseline(report: EvaluationReport, seed: SeedFigures) -> tuple[float, tuple[float, float]] | None:
    """The ratio of two interleaved speedups; their relative errors are independent, so their squares add up."""
    own, its = report.speedup, seed.speedup
    if _fastest(report.baselines) != _fastest(seed.baselines):
        return None
    if not own.best_baseline or not its.best_baseline or own.ci95 is None or its.ci95 is None:
        return None
    if min(own.ci95[0], its.ci95[0]) <= 0:
        return None
    value = own.best_baseline / its.best_baseline
    down = math.hypot(math.log(own.best_baseline / own.ci95[0]), math.log(its.ci95[1] / its.best_baseline))
    up = math.hypot(math.log(own.ci95[1] / own.best_baseline), math.log(its.best_baseline / its.ci95[0]))
    return value, (value * math.exp(-down), value * math.exp(up))


def _fastest(baselines: Baselines) -> str | None:
    known = baselines.medians_us()
    return min(known, key=known.__getitem__, default=None)
