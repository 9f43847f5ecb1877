"""Checks of this machine: each finds out one thing and says what to do about it."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.doctor.findings import Finding, missing, ok, warning
from kernelwright.settings import Settings
from services.domain.errors import ConfigurationError, InfrastructureError, KernelwrightError

if TYPE_CHECKING:
    from workers.devices.cards import Gpu

LEAST_FREE_BYTES = 2 << 30


Check = Callable[[Settings], Finding]


def diagnose(settings: Settings) -> tuple[Finding, ...]:
    """All checks in order; a check that breaks is a finding too."""
    return tuple(_guarded(check, settings) for check in CHECKS)


def _guarded(check: Check, settings: Settings) -> Finding:
    try:
        return check(settings)
    except Exception as error:  # noqa: BLE001 - a doctor that falls over helps nobody
        name = check.__name__.removeprefix("_")
        return warning(name, f"could not be checked: {type(error).__name__}: {error}")


def _python(_settings: Settings) -> Finding:
    return ok("python", f"{platform.python_version()} ({sys.executable})")


def _torch(_settings: Settings) -> Finding:
    if importlib.util.find_spec("torch") is None:
        return missing("torch", "not installed", "pip install 'kernelwright[worker]'")
    return ok("torch", metadata.version("torch"))


def _compiler(_settings: Settings) -> Finding:
    found = shutil.which("g++")
    if found is None:
        return missing("g++", "not on the PATH", "Install it: apt-get install g++ (Debian, Ubuntu).")
    lines = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
    return ok("g++", f"{lines.splitlines()[0]} ({found})")


def _openmp(_settings: Settings) -> Finding:
    if shutil.which("g++") is None:
        return missing("openmp", "needs g++", "Install g++ first.")
    source = "#include <omp.h>\nint main() { return omp_get_max_threads() < 1; }\n"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "probe"
        built = subprocess.run(
            ["g++", "-fopenmp", "-x", "c++", "-", "-o", str(program)],
            input=source,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        works = built.returncode == 0 and subprocess.run([program], timeout=20, check=False).returncode == 0
    if works:
        return ok("openmp", "programs with -fopenmp build and run")
    detail = (built.stderr.splitlines() or ["the built program fails"])[0]
    return missing("openmp", detail, "Install libgomp (it comes with g++).")


def _bubblewrap(_settings: Settings) -> Finding:
    found = shutil.which("bwrap")
    if found is None:
        return warning(
            "bubblewrap", "not installed; compilers run in the process sandbox", "apt-get install bubblewrap"
        )
    return ok("bubblewrap", found)


def _docker(settings: Settings) -> Finding:
    """The Docker host and the images on it for this machine's devices, where the settings ask for containers."""
    from kernelwright.wiring.sandboxes import check_sandbox, image_name
    from kernelwright.wiring.workbench import devices
    from workers.sandboxes.docker.sandbox import connect

    if settings.sandbox != "docker":
        return ok("docker", "not used (sandbox: process)", used=False)
    try:
        found = {image_name(settings, device): check_sandbox(settings, device) for device in devices()}
        with contextlib.closing(connect(settings.docker_host)) as api:
            engine = api.version()["Version"]
    except ConfigurationError as error:
        return missing("docker", str(error), "make sandbox-image")
    except KernelwrightError as error:
        remedy = "Start Docker or set DOCKER_HOST; the worker's user must be in the group docker."
        return missing("docker", str(error), remedy)
    images = ", ".join(f"{name} ({(key or '').removeprefix('sha256:')[:12]})" for name, key in found.items())
    return ok("docker", f"engine {engine}, image {images}")


def _isolation(settings: Settings) -> Finding:
    from kernelwright.wiring.sandboxes import sandbox_maker

    try:
        sandbox = sandbox_maker(settings)("cpu")
        try:
            level, detail = sandbox.isolation, sandbox.explain()
        finally:
            sandbox.close()
    except KernelwrightError as error:
        what = "Allow user namespaces, or run as root." if settings.sandbox == "process" else "See docker above."
        return missing("isolation", str(error), what)
    if level == "limits":
        return warning("isolation", detail, "Allow user namespaces: sysctl kernel.unprivileged_userns_clone=1")
    return ok("isolation", detail)


def _attribution(_settings: Settings) -> Finding:
    """Whether a candidate's threads can be sampled from outside: else nobody sees whose code does the work."""
    if importlib.util.find_spec("torch") is None:
        return ok("attribution", "not needed: nothing is evaluated here without torch")
    from workers.sampler.handle import missing_permission

    why = missing_permission()
    if not why:
        return ok("attribution", "candidates' time can be sampled from outside")
    detail = f"time that a candidate spends in libraries cannot be seen: {why}"
    remedy = "Run workers as root or with CAP_PERFMON, or: sysctl kernel.perf_event_paranoid=2"
    return warning("attribution", detail, remedy)


def _home(settings: Settings) -> Finding:
    existing = settings.directory
    while not existing.exists():
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        detail = f"{settings.directory}: {error.strerror}"
        return missing("home", detail, "Set KERNELWRIGHT_HOME to a folder you may write.")
    detail = f"{settings.directory}, {free / (1 << 30):.1f} GiB free"
    if free < LEAST_FREE_BYTES:
        return warning("home", detail, "Free some disk space.")
    return ok("home", detail)


def _database(settings: Settings) -> Finding:
    from kernelwright.wiring.database import open_database
    from services.runtime.clock import SystemClock
    from storage.jobs.verdicts import SqlVerdictStore

    async def check() -> int:
        async with open_database(settings) as database:
            await database.check()
            return await SqlVerdictStore(database, SystemClock()).unproven()

    if settings.database_url is None and not (settings.directory / "kernelwright.db").exists():
        return ok("database", "SQLite; created on first use")
    try:
        unproven = asyncio.run(check())
    except KernelwrightError as error:
        known = error.remedy if isinstance(error, InfrastructureError) else None
        remedy = known or "Start the database, or set KERNELWRIGHT_DATABASE_URL."
        return missing("database", str(error), remedy)
    kind = "SQLite" if settings.database.startswith("sqlite") else "PostgreSQL"
    detail = f"{kind} answers, schema is current"
    if unproven:
        detail += f"; {unproven} accepted results are of an older referee"
        return warning("database", detail, "Run kernelwright reverify (--team NAME for another team's).")
    return ok("database", detail)


def _embedder(settings: Settings) -> Finding:
    from kernelwright.wiring.installation import make_embedder
    from services.adapters.embeddings.minilm import REMEDY

    try:
        embedder = make_embedder(settings)
    except KernelwrightError as error:
        return missing("embedder", str(error), "Set KERNELWRIGHT_EMBEDDER=auto.")
    detail = f"{embedder.name}, {embedder.dimensions} dimensions"
    if settings.embedder == "auto" and embedder.name.startswith("hashing"):
        detail += ": the MiniLM model is not installed, so memory compares words, not meanings"
        return warning("embedder", detail, REMEDY)
    return ok("embedder", detail)


def _redis(settings: Settings) -> Finding:
    import redis

    needed = settings.queue == "celery" and not settings.broker.startswith("amqp")
    unused = "not used (queue: in-process)" if settings.queue != "celery" else "only for shared rate limits"
    try:
        with redis.Redis.from_url(settings.redis_url, socket_connect_timeout=2, socket_timeout=2) as client:
            client.ping()
    except (redis.RedisError, ValueError) as error:
        if needed:
            return missing("redis", f"unreachable ({error})", "Start Redis, or set KERNELWRIGHT_REDIS_URL.")
    return ok("redis", "answers" if needed else unused, used=needed)


def _spool(settings: Settings) -> Finding:
    from kernelwright.doctor.spool import check_spool

    return check_spool(settings)


def _installation(settings: Settings) -> Finding:
    from kernelwright.doctor.server import check_membership

    return check_membership(settings)


def _port(settings: Settings) -> Finding:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", settings.port))
        except OSError as error:
            detail = f"{settings.port}: {error.strerror}"
            return warning("port", detail, "Use serve --port N, or stop the process that uses it.")
    return ok("port", f"{settings.port} is free")


def _gpu(_settings: Settings) -> Finding:
    """The cards, and which of them workers here use."""
    from workers.devices.cards import CONTROL_NODE, all_gpus, usable_gpus

    if shutil.which("nvidia-smi") is None and not CONTROL_NODE.exists():
        return ok("gpu", "not found (only needed for cuda and triton)", used=False)
    if not all_gpus():
        remedy = "Check the NVIDIA driver (dmesg, nvidia-smi); in a container, that it was given the cards."
        return warning("gpu", "nvidia-smi names no GPU that answers", remedy)
    try:
        usable = usable_gpus()
    except ConfigurationError as error:
        return missing("gpu", str(error), "Set KERNELWRIGHT_GPU.")
    detail = "; ".join(f"{gpu} as {gpu.name}{_unused(gpu, usable)}" for gpu in all_gpus())
    if not usable:
        return warning("gpu", detail, "Switch MIG off (nvidia-smi -mig 0), or name a card in KERNELWRIGHT_GPU.")
    return ok("gpu", detail)


def _unused(gpu: Gpu, usable: Sequence[Gpu]) -> str:
    if gpu in usable:
        return ""
    return ": not used, split into MIG slices" if gpu.sliced else ": not used here"


def _cuda(_settings: Settings) -> Finding:
    """nvcc, and a torch that was built with CUDA, where there is a card for them."""
    import kernelwright_rt
    from workers.devices.cards import all_gpus

    if not all_gpus():
        return ok("cuda", "not needed (no GPU)", used=False)
    if "+cpu" in metadata.version("torch"):
        detail = f"torch {metadata.version('torch')} is a build without CUDA: no candidate can run on the GPU"
        return missing("cuda", detail, "pip install PyPI's own torch.")
    try:
        return ok("cuda", kernelwright_rt.cuda_toolchain())
    except kernelwright_rt.CompileError as error:
        remedy = "Install the CUDA toolkit, or set CUDA_HOME; without it only triton candidates can be judged."
        return warning("cuda", str(error), remedy)


CHECKS: tuple[Check, ...] = (
    _python,
    _torch,
    _compiler,
    _openmp,
    _bubblewrap,
    _docker,
    _isolation,
    _attribution,
    _home,
    _database,
    _embedder,
    _redis,
    _spool,
    _installation,
    _port,
    _gpu,
    _cuda,
)
