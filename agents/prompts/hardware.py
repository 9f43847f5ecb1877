"""What an author of kernels must know of a device: what was measured, and what its architecture fixes.

The limits of GPUs are those of the CUDA C++ Programming Guide (technical specifications per compute capability); rates
of matrix units are relative to the measured fp16 rate, as the data sheets state them for dense products.
"""

from __future__ import annotations

from dataclasses import dataclass

from services.domain.devices import DeviceSheet

_MOST_REGISTERS = 255
_REGISTERS = 65536
_VECTORS = (("avx512f", 512), ("avx2", 256), ("avx", 256), ("asimd", 128), ("sse4_2", 128))
"""Instruction sets with the width of their registers in bits, widest first."""


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """What a compute capability fixes for one streaming multiprocessor."""

    shared_kib: int
    """Shared memory of all its blocks together."""
    block_kib: int
    """Shared memory that one block can have, beyond 48 KiB by opting in."""
    l1_kib: int
    """L1 cache and shared memory together."""
    warps: int
    """Warps resident at once."""
    blocks: int
    """Blocks resident at once."""
    rates: tuple[tuple[str, float], ...] = ()
    """Matrix products by type, relative to fp16."""


_TENSOR_AMPERE = (("bf16", 1.0), ("tf32", 0.5))
_TENSOR_HOPPER = (*_TENSOR_AMPERE, ("fp8", 2.0))
_ARCHITECTURES = {
    "sm_70": Architecture(shared_kib=96, block_kib=96, l1_kib=128, warps=64, blocks=32),
    "sm_75": Architecture(shared_kib=64, block_kib=64, l1_kib=96, warps=32, blocks=16),
    "sm_80": Architecture(shared_kib=164, block_kib=163, l1_kib=192, warps=64, blocks=32, rates=_TENSOR_AMPERE),
    "sm_86": Architecture(shared_kib=100, block_kib=99, l1_kib=128, warps=48, blocks=16, rates=_TENSOR_AMPERE),
    "sm_89": Architecture(shared_kib=100, block_kib=99, l1_kib=128, warps=48, blocks=24, rates=_TENSOR_HOPPER),
    "sm_90": Architecture(shared_kib=228, block_kib=227, l1_kib=256, warps=64, blocks=32, rates=_TENSOR_HOPPER),
    "sm_100": Architecture(shared_kib=228, block_kib=227, l1_kib=256, warps=64, blocks=32, rates=_TENSOR_HOPPER),
}


def device_sheet(sheet: DeviceSheet | None) -> str:
    """What a kernel can expect of its device, one fact a line."""
    if sheet is None:
        return "unknown device"
    known = next((_ARCHITECTURES[name] for name in sheet.instruction_set if name in _ARCHITECTURES), None)
    is_gpu = known is not None or any(name.startswith("sm_") for name in sheet.instruction_set)
    caches = _gpu_caches(sheet, known) if is_gpu else _cpu_caches(sheet)
    units = f"{sheet.units} {'SMs' if is_gpu else 'cores'}{_clock(sheet)}"
    return "\n".join(
        (
            f"{sheet.name}: {sheet.model}, {units}, {', '.join(sheet.instruction_set)}",
            f"memory: {sheet.copy_bandwidth_gb_s:.1f} GB/s measured (large copy, read plus written)",
            *caches,
            *_peaks(sheet, known),
            *(() if is_gpu else _vectors(sheet)),
            *_residency(known),
            f"an empty call takes {sheet.launch_us:.2f} µs",
            sheet.toolchain,
        )
    )


def _clock(sheet: DeviceSheet) -> str:
    return "" if sheet.clock_mhz is None else f" at up to {sheet.clock_mhz:.0f} MHz"


def _cpu_caches(sheet: DeviceSheet) -> tuple[str, ...]:
    own = [f"{name} {size >> 10} KiB a core" for name, size in (("L1", sheet.l1_bytes), ("L2", sheet.l2_bytes)) if size]
    last = f"last level {sheet.cache_bytes >> 20} MiB, {sheet.cache_bandwidth_gb_s:.0f} GB/s measured"
    return (f"caches: {', '.join([*own, last])}",)


def _gpu_caches(sheet: DeviceSheet, known: Architecture | None) -> tuple[str, ...]:
    first = f"L1 and shared memory {known.l1_kib} KiB an SM, " if known is not None else ""
    return (f"caches: {first}L2 {sheet.cache_bytes >> 20} MiB, {sheet.cache_bandwidth_gb_s:.0f} GB/s measured",)


def _peaks(sheet: DeviceSheet, known: Architecture | None) -> tuple[str, ...]:
    balance = sheet.peak_gflop_s / max(sheet.copy_bandwidth_gb_s, 1e-9)
    lines = [f"fp32 peak {sheet.peak_gflop_s:.0f} GFLOP/s measured; balance: {balance:.1f} fp32 FLOPs a byte"]
    if sheet.peak_half_gflop_s is not None:
        others = [f"{name} {sheet.peak_half_gflop_s * rate:.0f}" for name, rate in (known.rates if known else ())]
        beside = f" ({', '.join(others)} by the data sheet's ratios)" if others else ""
        lines.append(f"matrix units: fp16 {sheet.peak_half_gflop_s:.0f} GFLOP/s measured{beside}")
    return tuple(lines)


def _vectors(sheet: DeviceSheet) -> tuple[str, ...]:
    bits = next((bits for name, bits in _VECTORS if name in sheet.instruction_set), None)
    return () if bits is None else (f"vector width: {bits} bits, {bits // 32} float32 lanes",)


def _residency(known: Architecture | None) -> tuple[str, ...]:
    if known is None:
        return ()
    registers = f"{_REGISTERS} registers (at most {_MOST_REGISTERS} a thread)"
    return (
        f"an SM has {registers} and {known.shared_kib} KiB of shared memory (at most {known.block_kib} KiB a block)",
        f"an SM holds at most {known.warps} warps ({known.warps * 32} threads) and {known.blocks} blocks",
    )
