"""What the processes of an evaluation may use: memory, threads and time, and on a GPU its device nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from services.domain.devices import DeviceSheet
from services.ports.sandboxes import Mount, SandboxLimits
from workers.devices.cards import Gpu
from workers.devices.gpu import gpu_environment, gpu_mounts, profiler_mounts

GPU_HOST_BYTES = 32 << 30
"""Host memory of a process that uses a GPU."""
MAX_HOST_THREADS = 8
FOREVER_S = 86400.0
ENTRIES = {
    "candidate": "workers.runner.session:serve",
    "baseline": "workers.referee.baselines.process:serve",
    "problem": "workers.referee.problem_process:serve",
}
GPU_ENTRIES = {
    "candidate": "workers.runner.session:serve_on_gpu",
    "baseline": "workers.referee.baselines.process:serve_on_gpu",
    "problem": "workers.referee.problem_process:serve_on_gpu",
    "counted": "workers.runner.counted:serve_counted",
    "traced": "workers.runner.counted:serve_traced",
}


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What the processes of one conversation may use."""

    referee: SandboxLimits
    """Of the referee, and of the process that holds the problem."""
    runner: SandboxLimits
    baseline: SandboxLimits
    environment: Mapping[str, str]
    mounts: tuple[Mount, ...] = ()
    """What all of them see beside the installation (a GPU's device nodes)."""
    profiler_mounts: tuple[Mount, ...] = ()
    """What a process below a profiler sees besides."""
    entries: Mapping[str, str] = field(default_factory=lambda: ENTRIES)
    """Entry points by role."""
    answer_s: float = 10.0
    """Seconds for a message that was begun to arrive, and for an answer to be read."""


def terms_for(device: DeviceSheet, memory_bytes: int, gpu: Gpu | None = None) -> Terms:
    """Limits and environment of referee, runner and baselines; `memory_bytes` bounds each process, `gpu` is the card
    that they are given."""
    environment = {
        "OMP_NUM_THREADS": str(device.units if gpu is None else MAX_HOST_THREADS),
        "OMP_WAIT_POLICY": "passive",  # two pools that spin against each other on few cores ruin every figure
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if gpu is None:
        return Terms(
            referee=_of_referee(memory_bytes, processes=64),
            runner=SandboxLimits(wall_s=FOREVER_S, memory_bytes=memory_bytes, processes=128),
            baseline=SandboxLimits(wall_s=FOREVER_S, memory_bytes=memory_bytes, processes=128),
            environment=environment,
        )
    memory = max(memory_bytes, GPU_HOST_BYTES)
    limits = SandboxLimits(wall_s=FOREVER_S, memory_bytes=memory, processes=512)  # room for CUDA's threads and mappings
    return Terms(
        referee=_of_referee(memory, processes=512),
        runner=limits,
        baseline=limits,
        environment={**environment, **gpu_environment(gpu)},
        mounts=gpu_mounts(gpu),
        profiler_mounts=profiler_mounts(),
        entries=GPU_ENTRIES,
    )


def _of_referee(memory_bytes: int, *, processes: int) -> SandboxLimits:
    """What it shares with other processes are files in memory: they may be as large as memory is."""
    return SandboxLimits(wall_s=FOREVER_S, memory_bytes=memory_bytes, processes=processes, file_bytes=memory_bytes)
