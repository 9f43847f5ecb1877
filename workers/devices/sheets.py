"""Device sheets: what a worker's device achieves, measured in a sandbox and kept on disk."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from services.domain.codec import CodecError, dumps, loads
from services.domain.devices import DeviceSheet
from services.domain.errors import InfrastructureError, SandboxError, StorageError
from services.domain.events import JsonValue
from services.ports.devices import KernelBackend
from services.ports.sandboxes import Sandbox, SandboxLimits
from workers.backends.cpp import runtime_view
from workers.devices import cpu_probe
from workers.ipc.wire import Channel, WireError

MEASURE_LIMITS = SandboxLimits(wall_s=60.0, memory_bytes=4 << 30)
MAX_AGE_S = 30 * 86400.0
LARGE_BYTES = (128 << 20, 512 << 20)
"""Least and most memory for the large copy; between them, six times the last-level cache."""
NEAR_BYTES = 256 << 10
"""Fits a core's private cache."""
DEFAULT_CACHE_BYTES = 8 << 20
SHEET_VERSION = 2
"""Sheets that an earlier version kept lack some of today's facts and are measured again."""
EXTENSIONS = re.compile(r"sse4_2|avx\w*|fma|f16c|bmi2|amx_\w+|asimd\w*|sve\w*|bf16")


def measure_cpu(
    sandbox: Sandbox,
    backend: KernelBackend,
    state_dir: Path,
    *,
    max_age_s: float = MAX_AGE_S,
    is_quiet: Callable[[], bool] | None = None,
) -> DeviceSheet:
    """The CPU's sheet, from `state_dir` where a fresh one for this processor and toolchain lies, else measured.

    Takes about two seconds. `backend` is the `cpp` backend. What was measured while the machine had other work to do
    (`is_quiet`, by default the load average) is not kept. Raises `InfrastructureError`.
    """
    model = processor_model()
    toolchain = f"{backend.toolchain()}; torch {version_of('torch')}"
    units = usable_cores()
    path = sheet_path(state_dir, toolchain)
    known = read_sheet(path, max_age_s)
    if known is not None:
        return known
    caches = cache_sizes()
    cache_bytes = last_level_cache_bytes()
    keep = (is_quiet or machine_is_quiet)()
    figures = _measure(sandbox, backend, cache_bytes)
    sheet = DeviceSheet(
        name="cpu",
        model=model,
        units=units,
        copy_bandwidth_gb_s=figures["copy_bandwidth_gb_s"],
        cache_bandwidth_gb_s=figures["cache_bandwidth_gb_s"],
        cache_bytes=cache_bytes,
        peak_gflop_s=figures["peak_gflop_s"],
        launch_us=figures["launch_us"],
        instruction_set=instruction_set(),
        toolchain=toolchain,
        l1_bytes=caches.get(1),
        l2_bytes=caches.get(2),
        clock_mhz=highest_clock_mhz(),
    )
    if keep:
        write_sheet(path, sheet)
    return sheet


def sheet_path(state_dir: Path, toolchain: str) -> Path:
    """Where the sheet lies of this machine's CPU with a compiler and torch, as `DeviceSheet.toolchain` names them."""
    site = f"{processor_model()}/{toolchain}/{usable_cores()}/{cpu_probe.SOURCE}/{SHEET_VERSION}"
    return state_dir / "devices" / f"cpu-{hashlib.sha256(site.encode()).hexdigest()[:16]}.json"


def _measure(sandbox: Sandbox, backend: KernelBackend, cache_bytes: int) -> dict[str, float]:
    built = backend.build(cpu_probe.MODULE)
    if not built.ok:
        raise InfrastructureError(f"the device measurement does not compile: {built.messages}")
    mounts, environment = runtime_view(built)
    process = sandbox.fork("workers.devices.cpu_probe:serve", MEASURE_LIMITS, mounts=mounts, environment=environment)
    channel = Channel(process.socket)
    request: dict[str, JsonValue] = {
        "large_bytes": min(max(6 * cache_bytes, LARGE_BYTES[0]), LARGE_BYTES[1]),
        "cached_bytes": cache_bytes // 4 // usable_cores(),
        "near_bytes": NEAR_BYTES,
    }
    try:
        channel.send(request)
        answer = channel.receive(timeout_s=MEASURE_LIMITS.wall_s).body
    except WireError as error:
        process.kill()
        status = process.wait()
        said = status.output[-1000:] if status is not None else ""
        raise SandboxError(f"the device measurement failed: {error}. {said}".strip()) from None
    finally:
        process.kill()
        channel.close()
    return {name: _positive(name, value) for name, value in answer.items()}


def _positive(name: str, value: JsonValue) -> float:
    if not isinstance(value, float) or value <= 0:
        raise SandboxError(f"the device measurement gave {name} = {value}")
    return value


def read_sheet(path: Path, max_age_s: float) -> DeviceSheet | None:
    """The sheet in a file that is young enough, else None."""
    try:
        if time.time() - path.stat().st_mtime > max_age_s:
            return None
        return loads(DeviceSheet, path.read_text(encoding="utf-8"))
    except (OSError, CodecError):
        return None


def write_sheet(path: Path, sheet: DeviceSheet) -> None:
    """Keep a sheet in a file. Raises `StorageError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, scratch = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(dumps(sheet))
        Path(scratch).replace(path)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from None


def machine_is_quiet() -> bool:
    """Whether no more than half as many threads again want to run as there are cores."""
    return os.getloadavg()[0] < 1.5 * usable_cores()


def usable_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


def processor_model() -> str:
    """The processor's own name, as the kernel tells it."""
    found = re.search(r"^(?:model name|Model|Hardware)\s*:\s*(.+)$", _cpuinfo(), re.MULTILINE)
    return found.group(1).strip() if found else os.uname().machine


def instruction_set() -> tuple[str, ...]:
    """Extensions that matter to kernels, sorted."""
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", _cpuinfo(), re.MULTILINE)
    names = found.group(1).split() if found else []
    return tuple(sorted(name for name in names if EXTENSIONS.fullmatch(name)))


def _cpuinfo() -> str:
    return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")


def last_level_cache_bytes() -> int:
    """Size of the last-level cache of the first usable core."""
    sizes = cache_sizes()
    return sizes[max(sizes)] if sizes else DEFAULT_CACHE_BYTES


def cache_sizes() -> dict[int, int]:
    """Bytes of the first usable core's caches for data by level, as far as the kernel tells."""
    core = min(os.sched_getaffinity(0))
    sizes: dict[int, int] = {}
    for index in Path(f"/sys/devices/system/cpu/cpu{core}/cache").glob("index*"):
        try:
            if (index / "type").read_text(encoding="ascii").strip() == "Instruction":
                continue
            level = int((index / "level").read_text(encoding="ascii"))
            sizes[level] = _size((index / "size").read_text(encoding="ascii").strip())
        except (OSError, ValueError):
            continue
    return sizes


def highest_clock_mhz() -> float | None:
    """The highest clock of the first usable core; where the kernel does not tell, the highest one seen now."""
    core = min(os.sched_getaffinity(0))
    try:
        text = Path(f"/sys/devices/system/cpu/cpu{core}/cpufreq/cpuinfo_max_freq").read_text(encoding="ascii")
        return int(text) / 1e3
    except (OSError, ValueError):
        seen = re.findall(r"^cpu MHz\s*:\s*([\d.]+)$", _cpuinfo(), re.MULTILINE)
        return max(map(float, seen), default=None)


def _size(text: str) -> int:
    """`49152K` as bytes."""
    factor = {"K": 1 << 10, "M": 1 << 20}.get(text[-1:], 1)
    return int(text.rstrip("KM")) * factor


def version_of(package: str) -> str:
    """What is installed of a package, without importing it; `none` where there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"
