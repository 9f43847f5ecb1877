"""Nsight Compute: its command line, what it prints, and a diagnosis by fixed rules. Runs nothing itself.

`ncu` starts the program it looks into, so it cannot look into a runner that is already there: a profile is a run of its
own (`workers.runner.counted`). Clocks are left alone (`--clock-control none`): the GPU may be shared.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from services.domain.profiles import LineShare

PLACES = (None, "/usr/local/cuda/bin", "/opt/nvidia/nsight-compute")
STALLS = {
    "long_scoreboard": "waiting for global or local memory",
    "short_scoreboard": "waiting for shared memory or special functions",
    "barrier": "waiting at a barrier",
    "math_pipe_throttle": "waiting for an arithmetic pipe",
    "mio_throttle": "shared-memory and special-function queue full",
    "lg_throttle": "global-memory queue full",
    "wait": "fixed latency of the instruction before",
    "not_selected": "ready, but another warp was issued",
    "gmma": "waiting for the tensor cores",
}
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
METRICS = {
    "duration_us": "gpu__time_duration.sum",
    "compute_pct": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "memory_pct": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "dram_pct": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram_bytes": "dram__bytes.sum",
    "l2_pct": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1_pct": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "issue_pct": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "occupancy_pct": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "occupancy_limit_pct": "sm__maximum_warps_per_active_cycle_pct",
    "registers": "launch__registers_per_thread",
    "limit_registers": "launch__occupancy_limit_registers",
    "limit_shared": "launch__occupancy_limit_shared_mem",
    "limit_warps": "launch__occupancy_limit_warps",
    "limit_blocks": "launch__occupancy_limit_blocks",
    "waves": "launch__waves_per_multiprocessor",
    "blocks": "launch__grid_size",
    "threads": "launch__block_size",
    "instructions": "smsp__inst_executed.sum",
    "local_loads": "smsp__inst_executed_op_local_ld.sum",
    "local_stores": "smsp__inst_executed_op_local_st.sum",
    **{f"stall_{name}": _STALL.format(name) for name in STALLS},
}
"""Our names for what is read, and ncu's."""
UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6, "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}
LIBRARY_KERNELS = ("at::native", "cublas", "cutlass", "cudnn", "sm90_xmma", "sm80_xmma", "gemv", "splitK", "at_cuda")
"""Parts of the names of kernels that come with PyTorch and CUDA's libraries."""
BUSY_PCT = 60.0
SPILL_SHARE = 0.02
SMALL_US = 8.0
MAX_LINES = 50
_PRINTED = ("--csv", "--page", "raw", "--print-units", "base")
NOT_PERMITTED = ("ERR_NVGPUCTRPERM", "LibraryNotLoaded", "No permission")


@dataclass(frozen=True, kw_only=True)
class KernelMetrics:
    """One launched kernel."""

    name: str
    values: dict[str, float]
    """By our names; durations in µs, sizes in bytes."""

    @property
    def is_library(self) -> bool:
        """Whether it comes with PyTorch or a library of CUDA's."""
        return any(part in self.name for part in LIBRARY_KERNELS)


def find_ncu() -> str | None:
    """Path of the program."""
    return next((found for place in PLACES if (found := shutil.which("ncu", path=place))), None)


def command(program: str, log: str, record: str, target: Sequence[str]) -> list[str]:
    """The command line that counts what `target` runs between cudaProfilerStart and cudaProfilerStop, into the file
    `record` for its viewer, with samples by line."""
    options = ["--clock-control", "none", "--profile-from-start", "off", "--target-processes", "all"]
    options += ["--section", "SourceCounters", "--import-source", "yes", "--export", record, "--force-overwrite"]
    return [program, *options, *_PRINTED, "--metrics", ",".join(METRICS.values()), "--log-file", log, *target]


def printing(program: str, record: str) -> list[str]:
    """The command line that prints a record's counters as `parse` reads them; it needs no GPU."""
    return [program, "--import", record, *_PRINTED]


def modules_of(program: str) -> list[str]:
    """Folders that may hold Nsight Compute's Python module, `ncu_report`."""
    real = Path(program).resolve().parent
    roots = [real, *real.parents[:3], Path("/opt/nvidia"), Path("/usr/local/cuda")]
    found = (
        path
        for root in roots
        for depth in ("", "nsight-compute*/", "nsight-compute*/*/")
        for path in root.glob(f"{depth}extras/python")
    )
    return list(dict.fromkeys(str(path) for path in found if path.is_dir()))


def line_shares(text: str) -> tuple[LineShare, ...]:
    """The hottest lines from what `workers.profilers.ncu_lines` printed, hottest first; empty where it is no such
    text."""
    try:
        samples = {int(line): int(count) for line, count in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError):
        return ()
    total = sum(count for count in samples.values() if count > 0)
    shares = [LineShare(line=line, share=count / total) for line, count in samples.items() if count > 0 and line > 0]
    return tuple(sorted(shares, key=lambda one: one.share, reverse=True)[:MAX_LINES])


def parse(text: str) -> list[KernelMetrics]:
    """Kernels in ncu's CSV, in the order they ran; empty where it holds none."""
    rows = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    if len(rows) < 3:
        return []
    names, units = rows[0], rows[1]
    return [_kernel(names, units, row) for row in rows[2:] if len(row) == len(names)]


def explain(text: str) -> str:
    """Why ncu gave no counters, in a sentence."""
    if any(mark in text for mark in NOT_PERMITTED):
        return "the driver permits hardware counters to administrators only (NVreg_RestrictProfilingToAdminUsers)"
    lines = [line for line in text.splitlines() if line.startswith("==ERROR==")]
    return lines[-1].removeprefix("==ERROR==").strip()[:300] if lines else "ncu counted no kernel"


def summary(kernels: Iterable[KernelMetrics]) -> dict[str, float]:
    """The metrics of the kernel that takes longest, and figures of the whole call."""
    found = list(kernels)
    if not found:
        return {}
    total = sum(kernel.values.get("duration_us", 0.0) for kernel in found)
    own = sum(kernel.values.get("duration_us", 0.0) for kernel in found if not kernel.is_library)
    longest = max(found, key=lambda kernel: kernel.values.get("duration_us", 0.0))
    return {
        **longest.values,
        "kernels": float(len(found)),
        "total_us": total,
        "custom_share": own / total if total > 0 else 0.0,
    }


def diagnose(metrics: dict[str, float]) -> tuple[str, str]:
    """The class of the limit and the evidence for it, from a summary's metrics."""
    compute, memory = metrics.get("compute_pct", 0.0), metrics.get("memory_pct", 0.0)
    memory = max(memory, metrics.get("dram_pct", 0.0))
    local = metrics.get("local_loads", 0.0) + metrics.get("local_stores", 0.0)
    if local > SPILL_SHARE * max(metrics.get("instructions", 0.0), 1.0):
        text = f"{local:.3g} accesses to local memory in {metrics.get('instructions', 0.0):.3g} instructions"
        return "spills", f"registers are spilled: {text}, with {metrics.get('registers', 0):.0f} registers a thread"
    if max(compute, memory) < BUSY_PCT and _is_small(metrics):
        text = f"{metrics.get('total_us', 0.0):.1f} µs in {metrics.get('kernels', 1):.0f} launches"
        return "latency", f"too little work to fill the GPU: {text}, {metrics.get('waves', 0.0):.2f} waves of blocks"
    if max(compute, memory) >= BUSY_PCT:
        if memory >= compute:
            return "memory", f"memory runs at {memory:.0f} % of its peak, arithmetic at {compute:.0f} %"
        return "compute", f"arithmetic runs at {compute:.0f} % of its peak, memory at {memory:.0f} %"
    if metrics.get("occupancy_limit_pct", 100.0) <= 50.0 and metrics.get("occupancy_pct", 100.0) < 50.0:
        return "occupancy", f"{_limiter(metrics)} permit {metrics['occupancy_limit_pct']:.0f} % of the warps"
    higher = "memory" if memory >= compute else "compute"
    return higher, f"memory at {memory:.0f} %, arithmetic at {compute:.0f} % of peak; most warps are {_stall(metrics)}"


def _is_small(metrics: dict[str, float]) -> bool:
    return metrics.get("total_us", 0.0) < SMALL_US or metrics.get("waves", 1.0) < 0.5


def _limiter(metrics: dict[str, float]) -> str:
    limits = {name: metrics.get(f"limit_{name}", 1e9) for name in ("registers", "shared", "warps", "blocks")}
    words = {"registers": "registers", "shared": "shared memory", "warps": "warps", "blocks": "blocks"}
    return words[min(limits, key=lambda name: limits[name])]


def _stall(metrics: dict[str, float]) -> str:
    stalls = {name: metrics.get(f"stall_{name}", 0.0) for name in STALLS}
    return STALLS[max(stalls, key=lambda name: stalls[name])]


def _kernel(names: Sequence[str], units: Sequence[str], row: Sequence[str]) -> KernelMetrics:
    cells = {name: (unit, value) for name, unit, value in zip(names, units, row, strict=True)}
    values: dict[str, float] = {}
    for ours, theirs in METRICS.items():
        unit, text = cells.get(theirs, ("", ""))
        try:
            values[ours] = float(text.replace(",", "")) * UNITS.get(unit, 1.0)
        except ValueError:
            continue
    return KernelMetrics(name=cells.get("Kernel Name", ("", ""))[1], values=values)
