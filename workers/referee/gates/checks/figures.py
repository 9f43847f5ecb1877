"""The figures of a measurement as a report shows them."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from services.domain.evaluations import ShapeResult
from services.domain.measurements import BASELINES, Baselines, Latency, Speedup
from workers.referee.timing.statistics import latency, paired_ratio
from workers.referee.trial import Measured


def shape_result(measured: Measured, known: Baselines) -> ShapeResult:
    """Figures of one input set. Baselines outside the pair are scaled by the pair's, which was measured now. Raises
    `NoFigureError`."""
    samples = measured.samples
    ratio = paired_ratio(samples.baseline, samples.candidate, samples.off, samples.spread)
    speedups = {name: _scaled(known, name, measured.baseline, ratio.value) for name in BASELINES}
    return ShapeResult(
        shapes=measured.shapes,
        latency=latency(samples.candidate, samples.off),
        baselines=page_baselines(known, measured),
        bytes=measured.bytes,
        speedup=Speedup(
            eager=speedups["eager"],
            compile=speedups["compile"],
            compile_max=speedups["compile_max"],
            best_baseline=ratio.value,
            ci95=ratio.ci95,
        ),
    )


def page_baselines(known: Baselines, measured: Measured) -> Baselines:
    """The baselines as a report shows them with this measurement: the one in the pair as it was in the pair, the others
    at its pace, as they were measured with it before. So ratios can be checked on the page. Raises `NoFigureError`."""
    paired: Latency | None = getattr(known, measured.baseline)
    now = latency(measured.samples.baseline, measured.samples.off)
    found: dict[str, Latency | None] = {measured.baseline: now}
    for name in BASELINES:
        own: Latency | None = getattr(known, name)
        if name != measured.baseline and own is not None and paired is not None:
            found[name] = _paced(own, now.median_us / paired.median_us)
    return Baselines(**found)


def _paced(figures: Latency, factor: float) -> Latency:
    low, high = figures.ci95_us
    return replace(
        figures,
        median_us=factor * figures.median_us,
        mean_us=factor * figures.mean_us,
        p10_us=factor * figures.p10_us,
        p90_us=factor * figures.p90_us,
        ci95_us=(factor * low, factor * high),
    )


def why_not_the_medians(measured: Measured, result: ShapeResult) -> list[str]:
    """A note where the speedup is not what the medians of the page give."""
    of_medians = median(measured.samples.baseline) / (result.latency.median_us * 1e-6)
    value = result.speedup.best_baseline or 0.0
    if abs(of_medians - value) <= 0.01 * value:
        return []
    return [f"the speedup is the median of the pairs' ratios; that of the two medians is {of_medians:.2f}"]


def _scaled(known: Baselines, name: str, rival: str, ratio: float) -> float | None:
    own: Latency | None = getattr(known, name)
    reference: Latency | None = getattr(known, rival)
    if name == rival:
        return ratio
    if own is None or reference is None:
        return None
    return ratio * own.median_us / reference.median_us
