"""Medians with bootstrap confidence intervals, and speedups from interleaved pairs. Seconds in, microseconds out.

What the protocol itself takes has been taken off the samples, and is known only so well: single samples may lie below
zero, and the intervals cover what another estimate would give (`Uncertainty`). Where an interval reaches down to zero
there is no figure, instead of one that was made positive.

A machine's drift lasts longer than a call, so neighbouring samples resemble each other: resamples are made of blocks of
neighbours (Künsch 1989), else the intervals would be narrower than the figures' spread. Samples come in the order in
which they were taken. No interval of a median is narrower than that of its ranks, which needs no number of samples.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from services.domain.measurements import Latency

CONFIDENCE, Z = 0.95, 1.96
MANY = 500
"""Samples from which on a binomial distribution is normal."""
RESAMPLES = 1000
MICROSECONDS = 1e6
UNSTABLE = 10.0
"""Upper over lower end of the median's interval, from which on a figure means nothing. Wide intervals below it stand
in the report: a busy machine is not the candidate's fault, and no speedup counts whose interval reaches below one."""


class NoFigureError(Exception):
    """The time of some calls cannot be distinguished from zero."""


@dataclass(frozen=True, kw_only=True)
class Uncertainty:
    """How far off the cost that was subtracted from every sample may be, in seconds."""

    shorter_s: float = 0.0
    """A call may be shorter than its sample by this much."""
    longer_s: float = 0.0
    """Or longer by this much."""
    by_chance: bool = False
    """Whether another sitting would be off by another amount, so that the errors of several partly cancel."""

    def pooled(self, count: int, other: Uncertainty, others: int) -> Uncertainty:
        """What holds for `count` samples that are this far off together with `others` that are so far off: the larger
        of the two, but for errors by chance the root of the sum of their squares, each by its share."""
        if not count or not others:
            return self if count else other
        if self.by_chance and other.by_chance:
            mine, theirs = count / (count + others), others / (count + others)
            return Uncertainty(
                shorter_s=math.hypot(mine * self.shorter_s, theirs * other.shorter_s),
                longer_s=math.hypot(mine * self.longer_s, theirs * other.longer_s),
                by_chance=True,
            )
        return Uncertainty(shorter_s=max(self.shorter_s, other.shorter_s), longer_s=max(self.longer_s, other.longer_s))


EXACT = Uncertainty()


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """How many times as long one takes as another (of speedups: the baseline), with its 95 % interval."""

    value: float
    ci95: tuple[float, float]


def latency(seconds: Sequence[float], off: Uncertainty = EXACT) -> Latency:
    """The distribution of some calls' durations. At least one is needed.

    Samples below what can be distinguished from zero are given as that bound. Raises `NoFigureError`."""
    low, high = _positive_interval(seconds, off)
    taken = [max(value, off.shorter_s) * MICROSECONDS for value in seconds]
    ordered = sorted(taken)
    return Latency(
        median_us=statistics.median(ordered),
        mean_us=statistics.fmean(ordered),
        p10_us=quantile(ordered, 0.1),
        p90_us=quantile(ordered, 0.9),
        ci95_us=(low * MICROSECONDS, high * MICROSECONDS),
        samples=len(ordered),
    )


def is_told(seconds: Sequence[float], off: Uncertainty = EXACT) -> bool:
    """Whether the median of some calls' durations can be distinguished from zero."""
    try:
        _positive_interval(seconds, off)
    except NoFigureError:
        return False
    return True


def _positive_interval(seconds: Sequence[float], off: Uncertainty) -> tuple[float, float]:
    """The median's interval. Raises `NoFigureError` where it reaches down to zero."""
    low, high = _interval_of_median(tuple(seconds))
    if low <= off.shorter_s:
        raise NoFigureError("a call cannot be distinguished from one that computes nothing")
    return low - off.shorter_s, high + off.longer_s


def _check_positive(baseline: Sequence[float], candidate: Sequence[float], off: Uncertainty) -> None:
    for seconds in (baseline, candidate):
        _positive_interval(seconds, off)


def paired_ratio(
    baseline: Sequence[float], candidate: Sequence[float], off: Uncertainty = EXACT, spread: float = 0.0
) -> Ratio:
    """Speedup from pairs measured one after the other: the median of their ratios. `spread`: the standard deviation of
    the logarithm of such a ratio between two processes that run the same. Raises `NoFigureError`.

    What slows a machine down for a second slows both halves of a pair. Over sittings of 1.2 s on two shared cores the
    median of the ratios spreads by 4 %, the ratio of the medians by 6 %."""
    if len(baseline) != len(candidate):
        raise ValueError("pairs need as many samples of one as of the other")
    _check_positive(baseline, candidate, off)
    ratios = _ratios(baseline, candidate)
    found = Ratio(value=float(_medians(ratios)), ci95=_widened(_median_interval(ratios), spread))
    return _covering(found, statistics.median(baseline), statistics.median(candidate), off)


def _ratios(baseline: Sequence[float], candidate: Sequence[float]) -> torch.Tensor:
    """The ratio of each pair: none, or beyond any, where one half took no time that shows, which keeps the order that
    a median is about. Pairs of which neither half did say nothing."""
    base, own = (torch.tensor(values, dtype=torch.float64) for values in (baseline, candidate))
    says = (base > 0) | (own > 0)
    base, own = base[says], own[says]
    return torch.where(own > 0, base.clamp(min=0.0) / own, math.inf)


def _covering(found: Ratio, base_s: float, own_s: float, off: Uncertainty) -> Ratio:
    """The ratio with an interval that covers what other estimates of the protocol's time would give: that is taken off
    both sides alike. Raises `NoFigureError` where none bounds it."""
    low, high = found.ci95
    if not 0 < low <= high < math.inf:
        raise NoFigureError(
            "the ratio has no bound: too many calls cannot be distinguished from calls that compute nothing"
        )
    ends = [(base_s + by) / (own_s + by) * own_s / base_s for by in (-off.shorter_s, 0.0, off.longer_s)]
    return Ratio(value=found.value, ci95=(low * min(ends), high * max(ends)))


def median_and_gap(longer: Sequence[float], shorter: Sequence[float]) -> tuple[Ratio, Ratio]:
    """The median of `shorter`, and how far that of `longer` lies above it, each with its 95 % interval. Figures by one
    measure, in relation to the same; each side is resampled by itself."""
    one, other = (torch.tensor(values, dtype=torch.float64) for values in (longer, shorter))
    ones, others = _medians(one[_resampled(len(one))]), _medians(other[_resampled(len(other), seed=1)])
    alone = Ratio(value=float(_medians(other)), ci95=_interval(others))
    return alone, Ratio(value=float(_medians(one) - _medians(other)), ci95=_interval(ones - others))


def is_stable(seconds: Sequence[float]) -> bool:
    """Whether the median of some calls' durations means anything.

    Of samples as if they were independent: drift makes a figure's interval wider, but not meaningless."""
    low, high = _independently(seconds)
    return low > 0.0 and high <= UNSTABLE * low


def reach_s(seconds: Sequence[float]) -> float:
    """How wide that interval is, in seconds."""
    low, high = _independently(seconds)
    return high - low


def _independently(seconds: Sequence[float]) -> tuple[float, float]:
    """The median's interval, of samples as if they were independent."""
    return _interval(_medians(torch.tensor(seconds, dtype=torch.float64)[_resampled(len(seconds), block=1)]))


def relative_width(seconds: Sequence[float]) -> float:
    """Width of the median's 95 % interval over the median, by order statistics (cheap enough to ask every round);
    infinite where the median is not above zero."""
    ordered = sorted(seconds)
    count = len(ordered)
    reach = 0.98 * count**0.5
    low = ordered[max(0, int(count / 2 - reach))]
    high = ordered[min(count - 1, int(count / 2 + reach))]
    middle = statistics.median(ordered)
    return (high - low) / middle if middle > 0 else math.inf


def quantile(ordered: Sequence[float], share: float) -> float:
    """Linear interpolation between the neighbours of a sorted sequence."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


@functools.lru_cache(maxsize=16)
def _interval_of_median(seconds: tuple[float, ...]) -> tuple[float, float]:
    """Cached: the same samples serve the check against zero, the figures and the ratio."""
    return _median_interval(torch.tensor(seconds, dtype=torch.float64))


def _median_interval(values: torch.Tensor) -> tuple[float, float]:
    """The median's 95 % interval: as wide as resamples show, and as ranks do, whichever is wider.

    Of a dozen samples, as a busy machine leaves time for, resamples in blocks give intervals that hold 88 % of the
    time. Those of ranks are exact for independent samples of any distribution, and ignore drift."""
    low, high = _interval(_medians(values[_resampled(len(values))]))
    first, last = values.sort().values[[below := rank_of_interval(len(values)), -1 - below]].tolist()
    return min(low, first), max(high, last)


@functools.cache
def rank_of_interval(count: int) -> int:
    """How many samples lie below the 95 % interval of the median of so many, and as many above it; none of fewer than
    six, whose range holds less often than that."""
    if count > MANY:
        return int(count / 2 - 0.98 * count**0.5)
    below, chance = 0, 0.5**count
    while chance <= (1 - CONFIDENCE) / 2:
        below += 1
        chance += math.comb(count, below) * 0.5**count
    return max(0, below - 1)


def _medians(values: torch.Tensor) -> torch.Tensor:
    """The median of each row, the middle two averaged."""
    ordered = values.sort(dim=-1).values
    count = ordered.shape[-1]
    return (ordered[..., (count - 1) // 2] + ordered[..., count // 2]) / 2


@functools.lru_cache(maxsize=16)
def _resampled(count: int, seed: int = 0, block: int | None = None) -> torch.Tensor:
    """Indices of resamples, one a row, in blocks of neighbours (the last sample's neighbour is the first) as long as
    the root of the count; the same for the same count, so that the same samples give the same interval."""
    generator = torch.Generator().manual_seed(seed)
    length = block or max(1, math.isqrt(count))
    starts = torch.randint(count, (RESAMPLES, -(-count // length)), generator=generator)
    blocks = (starts.unsqueeze(-1) + torch.arange(length)) % count
    return blocks.reshape(RESAMPLES, -1)[:, :count]


def _widened(interval: tuple[float, float], spread: float) -> tuple[float, float]:
    """The interval of a ratio, with what a process may have been given for all its life."""
    low, high = interval
    return low * math.exp(-Z * spread), high * math.exp(Z * spread)


def _interval(values: torch.Tensor) -> tuple[float, float]:
    ordered = sorted(values.tolist())
    return quantile(ordered, 0.025), quantile(ordered, 0.975)
