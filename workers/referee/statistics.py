"""Medians with bootstrap confidence intervals, and speedups from interleaved pairs. Seconds in, microseconds out.

A machine's mood lasts longer than a call, so neighbouring samples resemble each other: resamples are made of blocks of
neighbours (Künsch 1989), else the intervals would be narrower than the figures' spread. Samples come in the order in
which they were taken.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from services.domain.measurements import Latency

RESAMPLES = 1000
MICROSECONDS = 1e6
PROCESS_SPREAD = 0.013
"""Standard deviation of the logarithm of an honest ratio of 1 between two processes on an H100, where the samples' own
intervals are 1 % wide (`benchmarks/calibration.py`)."""
UNSTABLE = 10.0
"""Upper over lower end of the median's interval, from which on a figure means nothing. Wide intervals below it stand
in the report: a busy machine is not the candidate's fault, and no speedup counts whose interval reaches below one."""


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """How many times as long one takes as another (of speedups: the baseline), with its 95 % interval."""

    value: float
    ci95: tuple[float, float]


def latency(seconds: Sequence[float]) -> Latency:
    """The distribution of some calls' durations. At least one is needed."""
    taken = [value * MICROSECONDS for value in seconds]
    low, high = _interval(_medians(torch.tensor(taken, dtype=torch.float64)[_resampled(len(taken))]))
    ordered = sorted(taken)
    return Latency(
        median_us=statistics.median(ordered),
        mean_us=statistics.fmean(ordered),
        p10_us=quantile(ordered, 0.1),
        p90_us=quantile(ordered, 0.9),
        ci95_us=(low, high),
        samples=len(ordered),
    )


def paired_ratio(baseline: Sequence[float], candidate: Sequence[float]) -> Ratio:
    """Speedup from pairs measured one after the other: the median of their ratios.

    What slows a machine down for a second slows both halves of a pair. Over sittings of 1.2 s on two shared cores the
    median of the ratios spreads by 4 %, the ratio of the medians by 6 %."""
    if len(baseline) != len(candidate):
        raise ValueError("pairs need as many samples of one as of the other")
    base, own = (torch.tensor(values, dtype=torch.float64) for values in (baseline, candidate))
    ratios = base / own.clamp(min=1e-12)
    return Ratio(value=float(_medians(ratios)), ci95=_interval(_medians(ratios[_resampled(len(baseline))])))


def unpaired_ratio(baseline: Sequence[float], candidate: Sequence[float]) -> Ratio:
    """Speedup from samples of which no two belong together: the ratio of the medians, each side resampled by itself.

    Such samples come from a GPU, where two processes with the same kernel differ by more than their samples show; that
    is in the interval too, see `PROCESS_SPREAD`."""
    base, own = (torch.tensor(values, dtype=torch.float64) for values in (baseline, candidate))
    bases, owns = base[_resampled(len(base))], own[_resampled(len(own), seed=1)]
    return Ratio(
        value=float(_medians(base) / _medians(own).clamp(min=1e-12)),
        ci95=_widened(_interval(_medians(bases) / _medians(owns).clamp(min=1e-12)), 1.96 * PROCESS_SPREAD),
    )


def median_and_gap(longer: Sequence[float], shorter: Sequence[float]) -> tuple[Ratio, Ratio]:
    """The median of `shorter`, and how far that of `longer` lies above it, each with its 95 % interval. Figures by one
    measure, in relation to the same; each side is resampled by itself."""
    one, other = (torch.tensor(values, dtype=torch.float64) for values in (longer, shorter))
    ones, others = _medians(one[_resampled(len(one))]), _medians(other[_resampled(len(other), seed=1)])
    alone = Ratio(value=float(_medians(other)), ci95=_interval(others))
    return alone, Ratio(value=float(_medians(one) - _medians(other)), ci95=_interval(ones - others))


def is_stable(seconds: Sequence[float]) -> bool:
    """Whether the median of some calls' durations means anything.

    Of samples as if they were independent: moods that last make a figure's interval wider, but not meaningless."""
    taken = torch.tensor(seconds, dtype=torch.float64) * MICROSECONDS
    low, high = _interval(_medians(taken[_resampled(len(seconds), block=1)]))
    return high <= UNSTABLE * max(low, 1e-3)


def relative_width(seconds: Sequence[float]) -> float:
    """Width of the median's 95 % interval over the median, by order statistics (cheap enough to ask every round)."""
    ordered = sorted(seconds)
    count = len(ordered)
    reach = 0.98 * count**0.5
    low = ordered[max(0, int(count / 2 - reach))]
    high = ordered[min(count - 1, int(count / 2 + reach))]
    return (high - low) / max(statistics.median(ordered), 1e-12)


def quantile(ordered: Sequence[float], share: float) -> float:
    """Linear interpolation between the neighbours of a sorted sequence."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def _medians(values: torch.Tensor) -> torch.Tensor:
    """The median of each row, the middle two averaged."""
    ordered = values.sort(dim=-1).values
    count = ordered.shape[-1]
    return (ordered[..., (count - 1) // 2] + ordered[..., count // 2]) / 2


def _resampled(count: int, seed: int = 0, block: int | None = None) -> torch.Tensor:
    """Indices of resamples, one a row, in blocks of neighbours (the last sample's neighbour is the first) as long as
    the root of the count; the same for the same count, so that the same samples give the same interval."""
    generator = torch.Generator().manual_seed(seed)
    length = block or max(1, math.isqrt(count))
    starts = torch.randint(count, (RESAMPLES, -(-count // length)), generator=generator)
    blocks = (starts.unsqueeze(-1) + torch.arange(length)) % count
    return blocks.reshape(RESAMPLES, -1)[:, :count]


def _widened(interval: tuple[float, float], by: float) -> tuple[float, float]:
    low, high = interval
    return low * math.exp(-by), high * math.exp(by)


def _interval(values: torch.Tensor) -> tuple[float, float]:
    ordered = sorted(values.tolist())
    return quantile(ordered, 0.025), quantile(ordered, 0.975)
