"""Medians with bootstrap confidence intervals, and speedups from interleaved pairs. Seconds in, microseconds out."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from services.domain.evaluations import Latency

RESAMPLES = 1000
MICROSECONDS = 1e6
UNSTABLE = 10.0
"""Upper over lower end of the median's interval, from which on a figure means nothing. Wide intervals below it stand
in the report: a busy machine is not the candidate's fault, and no speedup counts whose interval reaches below one."""


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """Median baseline over median candidate, with its 95 % interval."""

    value: float
    ci95: tuple[float, float]


def latency(seconds: Sequence[float]) -> Latency:
    """The distribution of some calls' durations. At least one is needed."""
    ordered = sorted(value * MICROSECONDS for value in seconds)
    low, high = _interval(_medians(torch.tensor(ordered, dtype=torch.float64)[_resampled(len(ordered))]))
    return Latency(
        median_us=statistics.median(ordered),
        mean_us=statistics.fmean(ordered),
        p10_us=quantile(ordered, 0.1),
        p90_us=quantile(ordered, 0.9),
        ci95_us=(low, high),
        samples=len(ordered),
    )


def paired_ratio(baseline: Sequence[float], candidate: Sequence[float]) -> Ratio:
    """Speedup from pairs measured one after the other; pairs are resampled together."""
    if len(baseline) != len(candidate):
        raise ValueError("pairs need as many samples of one as of the other")
    base, own = (torch.tensor(values, dtype=torch.float64) for values in (baseline, candidate))
    chosen = _resampled(len(baseline))
    return _ratio(base, own, base[chosen], own[chosen])


def unpaired_ratio(baseline: Sequence[float], candidate: Sequence[float]) -> Ratio:
    """Speedup from samples of which no two belong together; each side is resampled by itself."""
    base, own = (torch.tensor(values, dtype=torch.float64) for values in (baseline, candidate))
    return _ratio(base, own, base[_resampled(len(base))], own[_resampled(len(own), seed=1)])


def _ratio(base: torch.Tensor, own: torch.Tensor, bases: torch.Tensor, owns: torch.Tensor) -> Ratio:
    value = float(_medians(base) / _medians(own).clamp(min=1e-12))
    return Ratio(value=value, ci95=_interval(_medians(bases) / _medians(owns).clamp(min=1e-12)))


def is_stable(seconds: Sequence[float]) -> bool:
    """Whether the median of some calls' durations means anything."""
    low, high = latency(seconds).ci95_us
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


def _resampled(count: int, seed: int = 0) -> torch.Tensor:
    """Indices of resamples, one a row; the same for the same count, so that the same samples give the same interval."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(count, (RESAMPLES, count), generator=generator)


def _interval(values: torch.Tensor) -> tuple[float, float]:
    ordered = sorted(values.tolist())
    return quantile(ordered, 0.025), quantile(ordered, 0.975)
