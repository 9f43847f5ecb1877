"""This machine's NVIDIA GPU: whether there is one, its name and nodes, its state, and its sheet. No CUDA in here.

The figures are measured by `workers.devices.gpu_probe` in a sandbox and kept on disk for a GPU, driver and torch.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
import stat
import subprocess
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from services.domain.devices import DeviceSheet
from services.domain.errors import InfrastructureError, SandboxError
from services.domain.events import JsonValue
from services.ports.sandboxes import Mount, Sandbox, SandboxLimits
from workers.devices.sheets import MAX_AGE_S, read_sheet, torch_version, write_sheet
from workers.ipc.wire import Channel, WireError

CONTROL_NODE = Path("/dev/nvidiactl")
SMI_PLACES = (None, "/usr/local/nvidia/bin", "/usr/bin")
MEASURE_LIMITS = SandboxLimits(wall_s=120.0, memory_bytes=32 << 30, processes=512)


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """The first GPU of this machine."""

    name: str
    """As jobs ask for it: `h200`."""
    model: str
    """As the driver calls it: `NVIDIA H200`."""
    driver: str
    capability: str
    """For example `9.0`."""
    uuid: str = "gpu"
    """The driver's name for this very card."""


@functools.cache
def find_gpu() -> Gpu | None:
    """This machine's first NVIDIA GPU, or None."""
    if not CONTROL_NODE.exists():
        return None
    values = _query("name", "driver_version", "compute_cap", "uuid")
    if values is None:
        return None
    name, driver, capability, uuid = values
    return Gpu(name=short_name(name), model=name, driver=driver, capability=capability, uuid=uuid)


def lock_path(gpu: Gpu, directory: Path) -> Path:
    """The file that workers with the same state directory lock while they use a card."""
    return directory / "devices" / f"{re.sub(r'[^A-Za-z0-9-]', '_', gpu.uuid)}.lock"


def short_name(model: str) -> str:
    """`NVIDIA H200` is `h200`, `NVIDIA GeForce RTX 4090` is `rtx4090`, `NVIDIA A100-SXM4-80GB` is `a100`."""
    words = re.sub(r"(?i)nvidia|geforce|quadro|tesla", " ", model).lower().split()
    return re.sub(r"[^a-z0-9]", "", "".join(words).partition("-")[0]) or "gpu"


def gpu_nodes() -> list[Path]:
    """Device nodes that CUDA opens, for the first GPU."""
    names = ("nvidiactl", "nvidia0", "nvidia-uvm", "nvidia-uvm-tools")
    nodes = [Path("/dev") / name for name in names]
    return [node for node in nodes if node.exists() and stat.S_ISCHR(node.stat().st_mode)]


def gpu_uuid() -> str | None:
    """What the first GPU is called on every machine and in every container."""
    values = _query("uuid")
    return None if values is None else values[0]


def gpu_mounts() -> tuple[Mount, ...]:
    """The nodes as a sandbox is shown them."""
    return tuple(Mount(path=node) for node in gpu_nodes())


def profiler_mounts() -> tuple[Mount, ...]:
    """Where ncu really lies: what is in CUDA's own folder only leads there."""
    return tuple(Mount(path=path) for path in (Path("/opt/nvidia/nsight-compute"),) if path.is_dir())


def gpu_state() -> tuple[str | None, dict[str, float]]:
    """The driver's version; clocks in MHz, temperature, power, and the reasons for slowing down as NVML's bits."""
    values = _query(
        "driver_version",
        "clocks.sm",
        "clocks.mem",
        "temperature.gpu",
        "power.draw",
        "clocks_event_reasons.active",
    )
    if values is None:
        return None, {}
    keys = ("sm_mhz", "memory_mhz", "temperature_c", "power_w", "throttle_reasons")
    figures = {key: _number(value) for key, value in zip(keys, values[1:], strict=True)}
    return values[0], {key: value for key, value in figures.items() if value is not None}


def measure_gpu(sandbox: Sandbox, gpu: Gpu, state_dir: Path, *, max_age_s: float = MAX_AGE_S) -> DeviceSheet:
    """The GPU's sheet, from `state_dir` where a fresh one lies, else measured (some seconds).

    Raises `InfrastructureError`.
    """
    toolchain = f"torch {torch_version()}; triton {_version('triton')}; driver {gpu.driver}"
    key = hashlib.sha256(f"{gpu.model}/{gpu.capability}/{toolchain}/2".encode()).hexdigest()[:16]
    path = state_dir / "devices" / f"{gpu.name}-{key}.json"
    known = read_sheet(path, max_age_s)
    if known is not None:
        return known
    figures = _measure(sandbox)
    sheet = DeviceSheet(
        name=gpu.name,
        model=gpu.model,
        units=int(figures["units"]),
        copy_bandwidth_gb_s=figures["copy_bandwidth_gb_s"],
        cache_bandwidth_gb_s=figures["cache_bandwidth_gb_s"],
        cache_bytes=int(figures["cache_bytes"]),
        peak_gflop_s=figures["peak_gflop_s"],
        peak_half_gflop_s=figures["peak_half_gflop_s"],
        launch_us=figures["launch_us"],
        instruction_set=(f"sm_{gpu.capability.replace('.', '')}",),
        toolchain=toolchain,
        clock_mhz=_highest_clock_mhz(),
    )
    write_sheet(path, sheet)
    return sheet


def _highest_clock_mhz() -> float | None:
    values = _query("clocks.max.sm")
    return None if values is None else _number(values[0])


def _measure(sandbox: Sandbox) -> dict[str, float]:
    process = sandbox.fork("workers.devices.gpu_probe:serve", MEASURE_LIMITS, mounts=gpu_mounts())
    channel = Channel(process.socket)
    try:
        answer = channel.receive(timeout_s=MEASURE_LIMITS.wall_s).body
    except WireError as error:
        process.kill()
        status = process.wait(5.0)
        said = status.output[-1500:] if status is not None else ""
        raise SandboxError(f"the GPU cannot be used in a sandbox: {error}. {said}".strip()) from None
    finally:
        process.kill()
        channel.close()
    return {name: _positive(name, value) for name, value in answer.items()}


def _positive(name: str, value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, float | int) or value <= 0:
        raise InfrastructureError(f"the GPU's measurement gave {name} = {value}")
    return float(value)


def _query(*names: str) -> list[str] | None:
    """Values that `nvidia-smi` gives for the first GPU; None where it does not work."""
    program = next((found for place in SMI_PLACES if (found := shutil.which("nvidia-smi", path=place))), None)
    if program is None:
        return None
    command = [program, "-i", "0", f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    values = [value.strip() for value in done.stdout.strip().split(",")]
    return values if len(values) == len(names) else None


def _number(text: str) -> float | None:
    try:
        return float(int(text, 16)) if text.startswith("0x") else float(text)
    except ValueError:
        return None


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"
