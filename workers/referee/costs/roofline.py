"""What the hardware allows, from the device sheet, and a diagnosis that needs no counters."""

from __future__ import annotations

from services.domain.devices import DeviceSheet
from services.domain.problems import ProblemAnalysis
from services.domain.profiles import Profile, Roofline
from services.domain.texts import percent
from workers.referee.costs.operator_costs import is_product

GIGA = 1e9
MICROSECONDS = 1e6
CHEATING_SHARE = 0.5
"""Copy bandwidth counts two bytes where reading alone may move three, and figures are noisy."""
BINDING_SHARE = 0.3
"""Share of a roof below which something else limits: roofs are measured with the best of all code."""
HALF_PRODUCTS = 6
"""Products of bfloat16 parts that make one of floats (24 bits); three of TF32 parts, at half the rate, cost as much."""
LATENCY_CALLS = 20
"""A kernel within so many empty calls of its floor is limited by latency."""
CACHED_SHARE = 4
"""A working set counts as cached when it fits a quarter of the last-level cache: neighbours on the same socket use
the rest, and what was written in the last call has pushed older lines out."""


def bandwidth_gb_s(bytes_moved: int, *, copy_gb_s: float, cache_gb_s: float | None, cache_bytes: int) -> float:
    """GB/s that moving so many bytes once can reach at most: the cache's for small sets, else the memory's."""
    small = bytes_moved * CACHED_SHARE <= cache_bytes
    return max(cache_gb_s, copy_gb_s) if small and cache_gb_s else copy_gb_s


def floor_s(analysis: ProblemAnalysis, device: DeviceSheet) -> tuple[float, float]:
    """Seconds that memory and arithmetic need at least, by the rule that gave the analysis its `floor_us`."""
    bandwidth = bandwidth_gb_s(
        analysis.bytes_moved,
        copy_gb_s=device.copy_bandwidth_gb_s,
        cache_gb_s=device.cache_bandwidth_gb_s,
        cache_bytes=device.cache_bytes,
    )
    return analysis.bytes_moved / (bandwidth * GIGA), analysis.flops / (_peak_gflop_s(analysis, device) * GIGA)


def _peak_gflop_s(analysis: ProblemAnalysis, device: DeviceSheet) -> float:
    """The matrix units' rate where all floating-point inputs are of half precision, and what it leaves of a product of
    floats that is as exact as one in float; else the rate of fused multiply-adds."""
    dtypes = {spec.dtype for spec in analysis.inputs if "float" in spec.dtype}
    if device.peak_half_gflop_s is None or not dtypes:
        return device.peak_gflop_s
    if dtypes <= {"float16", "bfloat16"}:
        return device.peak_half_gflop_s
    if not any(is_product(item.target) for item in analysis.operators):
        return device.peak_gflop_s
    return max(device.peak_gflop_s, device.peak_half_gflop_s / HALF_PRODUCTS)


def cheating_floor_s(analysis: ProblemAnalysis, device: DeviceSheet) -> float:
    """Seconds below which a result is too good to be true: the cache may hold what it can, and the rest is halved."""
    cached = min(analysis.bytes_moved, device.cache_bytes)
    beyond = analysis.bytes_moved - cached
    cache_bandwidth = max(device.cache_bandwidth_gb_s, device.copy_bandwidth_gb_s)
    memory = cached / (cache_bandwidth * GIGA) + beyond / (device.copy_bandwidth_gb_s * GIGA)
    return CHEATING_SHARE * memory


def roofline(analysis: ProblemAnalysis, device: DeviceSheet, median_us: float) -> Roofline:
    """Where a candidate stands."""
    memory, compute = floor_s(analysis, device)
    floor_us = MICROSECONDS * max(memory, compute)
    latency_bound = median_us < LATENCY_CALLS * device.launch_us and floor_us < 0.5 * median_us
    bound = "latency" if latency_bound else "memory" if memory >= compute else "compute"
    return Roofline(
        bytes=analysis.bytes_moved,
        flops=analysis.flops,
        floor_us=floor_us,
        fraction=floor_us / median_us,
        bound=bound,
    )


def diagnose(roof: Roofline, source: str, metrics: dict[str, float], why: str) -> Profile:
    """The limit that the roofline and, where there are any, counters point to."""
    ipc = metrics.get("instructions", 0.0) / metrics["cycles"] if metrics.get("cycles") else None
    if roof.bound == "latency":
        bottleneck, reason = "latency", "a call costs little more than starting it"
    elif roof.fraction >= 0.6:
        bottleneck = roof.bound
        reason = f"it reaches {percent(roof.fraction)} of the {roof.bound} roof"
    elif ipc is not None and ipc > 1.5:
        bottleneck, reason = "compute", f"it is {percent(roof.fraction)} of the roof at {ipc:.1f} instructions a cycle"
    elif roof.fraction >= BINDING_SHARE:
        bottleneck = roof.bound
        reason = f"{roof.bound} is the higher floor, and it reaches {percent(roof.fraction)} of it"
    else:
        bottleneck = "neither"
        reason = f"neither roof binds: {roof.bound} is the higher floor, and it reaches {percent(roof.fraction)} of it"
    counters = "" if metrics else f"; no counters: {why}"
    return Profile(source=source, metrics=metrics, bottleneck=bottleneck, reason=reason + counters)
