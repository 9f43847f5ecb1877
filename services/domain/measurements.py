"""What was measured: latencies, baselines, speedups, and how a call divides into its passes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, kw_only=True)
class Latency:
    """A distribution of one call's duration, in microseconds. A sample is one call on a CPU. On GPUs, and for calls too
    short to be timed singly, it is the total time of a batch divided by its calls: work for other calls counts."""

    median_us: float
    mean_us: float
    p10_us: float
    p90_us: float
    ci95_us: tuple[float, float]
    """Bootstrap 95 % confidence interval of the median."""
    samples: int
    """Number of timed calls, or of batches."""
    mode: str | None = None
    """Of `compile_max` which way of compiling it was: `max-autotune-no-cudagraphs`, or `tuned` for the options
    `max_autotune`, `coordinate_descent_tuning` and `triton.multi_kernel`. Null for everything else."""


BASELINES = ("eager", "compile", "compile_max")
"""Names of the fields of `Baselines`, which those of `Speedup` share."""


def default_baselines(device: str) -> tuple[str, ...]:
    """What a job on a device is compared with where nobody says: on GPUs the dear search of `compile_max` too."""
    return BASELINES[:2] if device == "cpu" else BASELINES


@dataclass(frozen=True, kw_only=True)
class Baselines:
    """Latencies of the reference; those asked for, the rest None."""

    eager: Latency | None = None
    compile: Latency | None = None
    """`torch.compile` with its default mode."""
    compile_max: Latency | None = None
    """The faster of `torch.compile` with mode `max-autotune-no-cudagraphs` and with its tuned options."""

    def medians_us(self) -> dict[str, float]:
        """Medians of those that were measured, by name."""
        named = {name: getattr(self, name) for name in BASELINES}
        return {name: latency.median_us for name, latency in named.items() if latency is not None}


@dataclass(frozen=True, kw_only=True)
class Speedup:
    """Baseline latency over candidate latency; above 1 is faster."""

    eager: float | None = None
    compile: float | None = None
    compile_max: float | None = None
    best_baseline: float | None = None
    """Against the fastest baseline, from the interleaved pair."""
    ci95: tuple[float, float] | None = None
    """95 % confidence interval of `best_baseline`."""
    seed: float | None = None
    """Against the job's seed kernel, if there was one."""
    seed_ci95: tuple[float, float] | None = None
    """95 % confidence interval of `seed`."""


class Gain(StrEnum):
    """Whether a candidate is faster than the strongest baseline, by the interval of their interleaved pair."""

    SURELY = "surely"
    """The whole interval lies above 1."""
    WITHIN_NOISE = "within_noise"
    """It contains 1."""
    NONE = "none"
    """It lies below 1."""


def gain_of(speedup: Speedup) -> Gain | None:
    """What the interval of a speedup says; None where nothing was measured."""
    return gain_within(speedup.ci95)


def gain_within(bounds: tuple[float, float] | None) -> Gain | None:
    """The only rule by which a kernel counts as faster, here and in every view of it."""
    if bounds is None:
        return None
    low, high = bounds
    if low > 1:
        return Gain.SURELY
    return Gain.NONE if high < 1 else Gain.WITHIN_NOISE


@dataclass(frozen=True, kw_only=True)
class PassTimes:
    """How a call with a backward pass divides, in microseconds."""

    forward_us: float
    """Median of forward calls alone, with the graph for the backward recorded."""
    forward_ci95_us: tuple[float, float]
    """Its bootstrap 95 % confidence interval."""
    backward_us: float
    """What the backward pass adds: the median of both passes less that of the forward."""
    backward_ci95_us: tuple[float, float]
    """Bootstrap 95 % confidence interval of that difference."""
    both_us: float
    """Median of calls with both passes: what speedups are of."""


@dataclass(frozen=True, kw_only=True)
class Passes:
    """Times of the passes of a candidate and of the baselines that were measured, on the first input set."""

    candidate: PassTimes
    eager: PassTimes | None = None
    compile: PassTimes | None = None
    compile_max: PassTimes | None = None


@dataclass(frozen=True, kw_only=True)
class SeedFigures:
    """What was measured of the kernel that a job started from."""

    latency: Latency
    baselines: Baselines
    speedup: Speedup
