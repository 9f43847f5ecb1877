"""What a card is to those who use it: its lock, its nodes, its state, and its sheet. No CUDA in here.

The figures are measured by `workers.devices.gpu_probe` in a sandbox and kept on disk for a card, driver and torch.
"""

from __future__ import annotations

import hashlib
import logging
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from services.domain.devices import DeviceSheet
from services.domain.errors import InfrastructureError, SandboxError, ToolchainError
from services.domain.events import JsonValue
from services.ports.sandboxes import Mount, Sandbox, SandboxLimits
from workers.devices.cards import DEVICES, Gpu, check_present, query
from workers.devices.sheets import MAX_AGE_S, read_sheet, version_of, write_sheet
from workers.ipc.wire import Channel, WireError

log = logging.getLogger(__name__)
_NO_CUDA = "not compiled with CUDA"
"""In what torch says then."""
SHARED_NODES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")
MEASURE_LIMITS = SandboxLimits(wall_s=120.0, memory_bytes=32 << 30, processes=512)


def lock_path(gpu: Gpu, directory: Path) -> Path:
    """The file that workers with the same state directory lock while they use a card."""
    return directory / "devices" / f"{re.sub(r'[^A-Za-z0-9-]', '_', gpu.uuid)}.lock"


def gpu_mounts(gpu: Gpu) -> tuple[Mount, ...]:
    """Device nodes that CUDA opens for one card, as a sandbox is shown them."""
    nodes = [gpu.node, *(DEVICES / name for name in SHARED_NODES)]
    return tuple(Mount(path=node) for node in nodes if node.exists() and stat.S_ISCHR(node.stat().st_mode))


def gpu_environment(gpu: Gpu) -> dict[str, str]:
    """What makes CUDA's first device this card, wherever more nodes than its own are seen."""
    return {"CUDA_VISIBLE_DEVICES": gpu.uuid}


def profiler_mounts() -> tuple[Mount, ...]:
    """Where ncu really lies: what is in CUDA's own folder only leads there."""
    return tuple(Mount(path=path) for path in (Path("/opt/nvidia/nsight-compute"),) if path.is_dir())


def gpu_state(card: str) -> tuple[str | None, dict[str, float]]:
    """The driver's version; clocks in MHz, temperature, power, and the reasons for slowing down as NVML's bits, of the
    card with a UUID."""
    rows = query(
        "driver_version",
        "clocks.sm",
        "clocks.mem",
        "temperature.gpu",
        "power.draw",
        "clocks_event_reasons.active",
        card=card,
    )
    if not rows:
        return None, {}
    values = rows[0]
    keys = ("sm_mhz", "memory_mhz", "temperature_c", "power_w", "throttle_reasons")
    figures = {key: _number(value) for key, value in zip(keys, values[1:], strict=True)}
    return values[0], {key: value for key, value in figures.items() if value is not None}


def measure_gpu(sandbox: Sandbox, gpu: Gpu, state_dir: Path, *, max_age_s: float = MAX_AGE_S) -> DeviceSheet:
    """The GPU's sheet, from `state_dir` where a fresh one lies, else measured (some seconds).

    Raises `InfrastructureError`.
    """
    toolchain = f"torch {version_of('torch')}; triton {version_of('triton')}; driver {gpu.driver}"
    key = hashlib.sha256(f"{gpu.uuid}/{gpu.capability}/{toolchain}/3".encode()).hexdigest()[:16]
    path = state_dir / "devices" / f"{gpu.name}-{key}.json"
    known = read_sheet(path, max_age_s)
    if known is not None:
        return known
    figures = {name: _positive(name, value) for name, value in _ask(sandbox, gpu, "serve").items()}
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
        clock_mhz=_highest_clock_mhz(gpu),
    )
    write_sheet(path, sheet)
    return sheet


def check_card(sandbox: Sandbox, gpu: Gpu) -> None:
    """See that what a sandbox is given is this card and no other. Raises `InfrastructureError`."""
    seen = _ask(sandbox, gpu, "identify")
    if seen["cards"] != 1 or seen["uuid"] not in (None, gpu.uuid.removeprefix("GPU-")):
        raise InfrastructureError(
            f"a sandbox should see only {gpu}, but sees {seen['cards']} cards, the first of them {seen['uuid']}: "
            "nothing is measured on a card that another worker may hold"
        )


def _highest_clock_mhz(gpu: Gpu) -> float | None:
    rows = query("clocks.max.sm", card=gpu.uuid)
    return _number(rows[0][0]) if rows else None


def _ask(sandbox: Sandbox, gpu: Gpu, entry: str) -> Mapping[str, JsonValue]:
    """What a probe finds in a sandbox that is given the card. Raises `SandboxError`."""
    process = sandbox.fork(
        f"workers.devices.gpu_probe:{entry}",
        MEASURE_LIMITS,
        mounts=gpu_mounts(gpu),
        environment=gpu_environment(gpu),
    )
    channel = Channel(process.socket)
    try:
        return channel.receive(timeout_s=MEASURE_LIMITS.wall_s).body
    except WireError as error:
        process.kill()
        status = process.wait(5.0)
        raise _unusable(gpu, error, status.output if status is not None else "") from None
    finally:
        process.kill()
        channel.close()


def _unusable(gpu: Gpu, error: WireError, said: str) -> InfrastructureError:
    """What to do about a probe that ended without an answer. Raises `InfrastructureError` where the card is gone."""
    check_present(gpu)
    if _NO_CUDA in said:
        return ToolchainError(f"torch {version_of('torch')} is a build without CUDA: pip install PyPI's own torch")
    log.warning("a probe of %s said: %s", gpu, said[-1500:])
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "nothing was said")
    return SandboxError(f"{gpu} cannot be used in a sandbox: {error}; {last}")


def _positive(name: str, value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, float | int) or value <= 0:
        raise InfrastructureError(f"the GPU's measurement gave {name} = {value}")
    return float(value)


def _number(text: str) -> float | None:
    try:
        return float(int(text, 16)) if text.startswith("0x") else float(text)
    except ValueError:
        return None
