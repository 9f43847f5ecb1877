"""What a worker measured about its device."""

from __future__ import annotations

from dataclasses import dataclass, replace

CPU = "cpu"
"""The name of the device that every machine has."""


@dataclass(frozen=True, kw_only=True)
class DeviceSheet:
    """What a worker measured about its device: prompts, rooflines and placement use it."""

    name: str
    """The name jobs ask for: `cpu`, `h200`, …"""
    model: str
    """The hardware's own name."""
    units: int
    """Cores a kernel may use (CPU) or streaming multiprocessors (GPU)."""
    copy_bandwidth_gb_s: float
    """Measured large-copy bandwidth, bytes read plus written, in GB/s."""
    cache_bandwidth_gb_s: float
    """Measured bandwidth for a working set that fits the last-level cache, in GB/s."""
    cache_bytes: int
    """Size of the last-level cache."""
    peak_gflop_s: float
    """Measured fp32 fused multiply-add rate, in GFLOP/s."""
    launch_us: float
    """Measured duration of an empty call, in microseconds."""
    instruction_set: tuple[str, ...]
    """ISA extensions or compute capability, for example `avx512f`, `sm_90`."""
    toolchain: str
    """Compiler, torch and driver versions that results depend on."""
    peak_half_gflop_s: float | None = None
    """Measured fp16 matrix rate, in GFLOP/s, where the device has units for it."""
    l1_bytes: int | None = None
    """First-level data cache of one core; None where it is not known, and for GPUs."""
    l2_bytes: int | None = None
    """Second-level cache of one core; None where it is not known, and for GPUs."""
    clock_mhz: float | None = None
    """Highest clock of the cores; None where it is not known."""

    def with_higher_ceilings(self, other: DeviceSheet) -> DeviceSheet:
        """With the higher of two measurements of each ceiling: nothing makes a device look faster than it is."""
        ceilings = ("copy_bandwidth_gb_s", "cache_bandwidth_gb_s", "peak_gflop_s")
        return replace(self, **{name: max(getattr(self, name), getattr(other, name)) for name in ceilings})
