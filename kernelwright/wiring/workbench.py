"""This machine as a worker, and the files a person names: what `evaluate` needs, on a bare GPU node too.

Standard library, torch and `workers` only.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from services.domain.codec import CodecError, loads
from services.domain.devices import DeviceSheet
from services.domain.errors import ConfigurationError, InfrastructureError, ToolchainError
from services.domain.evaluations import Environment
from services.domain.work import COMPILE
from workers.backends.plugged import plugged_in

if TYPE_CHECKING:
    from services.ports.devices import KernelBackend
    from workers.devices.cards import Gpu
    from workers.devices.gpu_lock import DeviceLock
    from workers.evaluation.evaluator import Evaluator, View
    from workers.queue.compile_worker import CompileBench
    from workers.sandboxes.docker.sandbox import DockerSandbox
    from workers.sandboxes.process import ProcessSandbox

    LocalSandbox = ProcessSandbox | DockerSandbox


log = logging.getLogger(__name__)
MEMORY_BYTES = 8 << 30
"""What one sandboxed process of a worker may use."""
CPU_BACKENDS = ("cpp",)
GPU_BACKENDS = ("triton", "cuda")
CPU_PRELOAD = (
    "workers.runner.triton_ready:choose_interpreter",
    "torch",
    # With the next one 1.6 CPU seconds of every referee otherwise: torch imports them when it first traces.
    "torch._dynamo",
    "torch.export._trace",
    # 0.4 CPU seconds of every referee, and less of a process that imports or runs a candidate.
    "workers.referee.server",
    "workers.referee.problem_process",
    "workers.referee.baselines.process",
    "workers.runner.session",
    "workers.backends.collect",
)
GPU_PRELOAD = (
    "torch",
    "triton",
    "torch._dynamo",  # 2.3 s in every runner otherwise: torch imports it when the first call is observed
    "workers.ipc.cuda_tensors",
    "workers.referee.server",
    "workers.referee.problem_process",
    "workers.referee.baselines.process",
    "workers.runner.session",
    "workers.runner.triton_ready:make_ready",
)
"""What the zygotes import, and a function that one of them calls. None of it touches a tensor or the GPU. Inductor is
not among it: in a run with its import here, forked processes could not start CUDA (torch 2.11 on an H200)."""


def devices() -> tuple[str, ...]:
    """What this machine can judge on: its CPU, and the kinds of NVIDIA GPUs that it has and this process may use.

    Raises `ConfigurationError` where a card is named that is not there."""
    from workers.devices.cards import usable_gpus

    return ("cpu", *dict.fromkeys(gpu.name for gpu in usable_gpus()))


def backends(device: str) -> tuple[str, ...]:
    """The backends of a device. Where Triton is installed, a CPU has it too: its interpreter checks. Those that other
    packages plug in are the CPU's."""
    if device != "cpu":
        return GPU_BACKENDS
    interpreter = ("triton",) if importlib.util.find_spec("triton") is not None else ()
    return (*CPU_BACKENDS, *interpreter, *plugged_in())


def compile_backends() -> tuple[str, ...]:
    """The backends whose compilers this machine has; they need no device."""
    import kernelwright_rt

    found = ["cpp"] if shutil.which(kernelwright_rt.COMPILER) is not None else []
    with contextlib.suppress(kernelwright_rt.CompileError):
        kernelwright_rt.cuda_compiler()
        found.append("cuda")
    return tuple(found)


def check_toolchain(device: str) -> None:
    """Raises `ConfigurationError` where nothing could be built for a device: an image without a toolchain."""
    import kernelwright_rt

    compilers = compile_backends()
    if device == "cpu" and "cpp" not in compilers:
        raise ConfigurationError(
            f"no C++ compiler: {kernelwright_rt.COMPILER} is not installed, and a worker for cpu needs it "
            f"(apt install {kernelwright_rt.COMPILER})"
        )
    if device == COMPILE and not compilers:
        raise ConfigurationError("a compile worker needs a compiler: install g++, or nvcc for CUDA")
    if device not in ("cpu", COMPILE) and "cuda" not in compilers and importlib.util.find_spec("triton") is None:
        raise ConfigurationError(
            f"neither Triton nor nvcc is installed, and a worker for {device} needs one of them: "
            "pip install triton, or use the images of `make gpu-images`"
        )


def check_device(device: str, backend: str) -> None:
    """Raises `ConfigurationError` where this machine lacks the device, or the device does not run the backend."""
    known = (*CPU_BACKENDS, *GPU_BACKENDS, *plugged_in())
    if backend not in known:
        raise ConfigurationError(f"unknown backend {backend!r}; known: {', '.join(known)}")
    check_has(device)
    if backend not in backends(device):
        others = "an NVIDIA GPU" if device == "cpu" else "the device cpu"
        if (device, backend) == ("cpu", "triton"):
            others += ", or (to be checked and not timed) Triton's interpreter: pip install triton"
        raise ConfigurationError(f"the backend {backend} does not run on the device {device}: it needs {others}")


def check_has(device: str) -> None:
    """Raises `ConfigurationError` where this machine lacks a device, and says what it has instead."""
    if device == "cpu":  # whatever is said of cards
        return
    from workers.devices.cards import all_gpus

    have = devices()
    if device in have:
        return
    sliced = [gpu for gpu in all_gpus() if gpu.sliced]
    lack = "" if len(have) > 1 else " and no NVIDIA GPU that answers"
    lack += ": name one that it has, or see what `kernelwright doctor` says of its cards"
    if sliced:
        lack = f"; {', '.join(map(str, sliced))}, split into MIG slices, on which nothing can be timed: turn MIG off"
        lack += " (nvidia-smi -mig 0)"
    raise ConfigurationError(f"unknown device {device!r}: this machine has {', '.join(have)}{lack}")


class WorkbenchPool:
    """What judges on this machine's devices, each made when it is first asked for."""

    def __init__(self, make: Callable[[str], Evaluator], *devices: str) -> None:
        """`make` makes the one of a device; those of `devices` are made at once."""
        self._make = make
        self._made = {device: make(device) for device in devices}

    def __enter__(self) -> WorkbenchPool:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def of(self, device: str) -> Evaluator:
        """The one of a device. Raises `InfrastructureError`."""
        if device not in self._made:
            try:
                self._made[device] = self._make(device)
            except ConfigurationError as error:  # the card has gone since the job was accepted
                raise InfrastructureError(str(error)) from None
        return self._made[device]

    def environment(self, device: str, backend: str) -> Environment | None:
        """What a report made now would depend on; None for a device or backend that this machine does not have."""
        if device not in devices() or backend not in backends(device):
            return None
        return self.of(device).environment(backend)

    def close_job(self, job_id: str) -> None:
        """Free what is kept warm for a job."""
        for workbench in list(self._made.values()):
            workbench.close_job(job_id)

    def close(self) -> None:
        """Free everything."""
        for workbench in list(self._made.values()):
            workbench.close()


def make_sandbox(device: str = "cpu") -> ProcessSandbox:
    """The sandbox for compilers, referees and runners. Raises `SandboxError`."""
    from workers.sandboxes.process import ProcessSandbox

    return ProcessSandbox(preload=CPU_PRELOAD if device == "cpu" else GPU_PRELOAD)


def make_workbench(
    directory: Path,
    device: str = "cpu",
    *,
    make: Callable[[str], LocalSandbox] = make_sandbox,
    baselines_max_age_s: float = 3600.0,
    compiled: Path | None = None,
) -> Evaluator:
    """The worker of this machine, with its caches under a directory, in the sandbox that `make` gives. What compile
    workers have built is taken from `compiled`.

    Raises `InfrastructureError`, `ConfigurationError`."""
    try:
        from workers.backends.cpp import CppBackend
        from workers.evaluation.evaluator import Evaluator
    except ModuleNotFoundError as error:
        raise InfrastructureError(f"this installation has no worker: the module {error.name} is missing") from None
    check_has(device)
    sandbox = make(device)
    try:
        sandbox.start()
        made = _on_cpu(sandbox, directory) if device == "cpu" else _on_gpu(sandbox, directory, device)
        backends, lacking = _equipped(made.backends)
        if compiled is not None:
            for backend in backends.values():
                if isinstance(backend, CppBackend):
                    backend.read_ahead(compiled)
        return Evaluator(
            sandbox,
            backends,
            made.sheet,
            lacking=lacking,
            views=made.views,
            memory_bytes=MEMORY_BYTES,
            gpu=made.gpu,
            lock=made.lock,
            baselines_max_age_s=baselines_max_age_s,
            measure_again=made.measure_again,
            owns_sandbox=True,
        )
    except BaseException:
        sandbox.close()
        raise


def _equipped(made: Mapping[str, KernelBackend]) -> tuple[dict[str, KernelBackend], str | None]:
    """Those backends whose toolchain is here, and what the others lack. Raises `ToolchainError` where none is."""
    found: dict[str, KernelBackend] = {}
    lacking: list[str] = []
    for name, backend in made.items():
        try:
            backend.toolchain()
        except ToolchainError as error:
            lacking.append(f"orders for {name} are left to other workers: {error}")
        else:
            found[name] = backend
    if not found:
        raise ToolchainError("; ".join(lacking))
    for reason in lacking:
        log.warning("%s", reason)
    return found, "; ".join(lacking) or None


def make_compile_bench(compiled: Path, *, make: Callable[[str], LocalSandbox] = make_sandbox) -> CompileBench:
    """A worker that compiles into a folder, and needs no device; CUDA for the GPUs that its orders name.

    Raises `InfrastructureError`."""
    from workers.backends.cpp import CppBackend
    from workers.backends.cuda import CudaBackend
    from workers.queue.compile_worker import CompileBench

    sandbox = make("cpu")
    try:
        sandbox.start()

        def cuda_for(architecture: str) -> CudaBackend:
            return CudaBackend(sandbox, compiled, architecture=architecture)

        backends = {"cpp": CppBackend(sandbox, compiled), "cuda": CudaBackend(sandbox, compiled)}
        return CompileBench(sandbox, backends, cuda_for=cuda_for)
    except BaseException:
        sandbox.close()
        raise


@dataclass(frozen=True, kw_only=True)
class _Made:
    """What an evaluator needs to know of its device."""

    backends: Mapping[str, KernelBackend]
    sheet: DeviceSheet
    views: Mapping[str, View]
    measure_again: Callable[[], DeviceSheet]
    """Measures the device anew, whatever is known of it."""
    gpu: Gpu | None = None
    lock: DeviceLock | None = None


def _on_cpu(sandbox: LocalSandbox, directory: Path) -> _Made:
    from workers.backends.cpp import runtime_view
    from workers.backends.registry import make_backend
    from workers.backends.triton import InterpretedTritonBackend
    from workers.devices.sheets import measure_cpu

    cpp = make_backend("cpp", sandbox, directory / "cache" / "cpp")
    sheet = measure_cpu(sandbox, cpp, directory)
    made: dict[str, KernelBackend] = {"cpp": cpp}
    views: dict[str, View] = {"cpp": runtime_view}
    for name in backends("cpu"):
        if name == "triton":
            triton = InterpretedTritonBackend(sandbox, directory / "cache" / name)
            made[name], views[name] = triton, triton.view
        elif name not in made:
            try:
                made[name] = make_backend(name, sandbox, directory / "cache" / name)
            except ConfigurationError as error:  # somebody else's package must not take this worker's own away
                log.warning("%s", error)
                continue
            views[name] = getattr(made[name], "view", runtime_view)
    again = partial(measure_cpu, sandbox, cpp, directory, max_age_s=0.0)
    return _Made(backends=made, sheet=sheet, views=views, measure_again=again)


def _on_gpu(sandbox: LocalSandbox, directory: Path, device: str) -> _Made:
    import kernelwright_rt
    from workers.backends.cuda import CudaBackend
    from workers.backends.triton import TritonBackend
    from workers.devices.cards import find_gpu
    from workers.devices.gpu import check_card, lock_path, measure_gpu
    from workers.devices.gpu_lock import DeviceLock
    from workers.devices.sheets import MAX_AGE_S

    gpu = find_gpu(device)
    if gpu is None:
        raise InfrastructureError("the GPU is gone: nvidia-smi does not answer any more")
    major, minor = (int(part) for part in gpu.capability.split("."))
    target = kernelwright_rt.architecture_of(major, minor)
    cuda = CudaBackend(sandbox, directory / "cache" / "cuda", architecture=target)
    triton = TritonBackend(sandbox, directory / "cache" / "triton", architecture=target)
    lock = DeviceLock(lock_path(gpu, directory))

    def measured(max_age_s: float) -> DeviceSheet:
        lock.acquire()
        try:
            check_card(sandbox, gpu)
            return measure_gpu(sandbox, gpu, directory, max_age_s=max_age_s)
        finally:
            lock.release()

    sheet = measured(MAX_AGE_S)
    return _Made(
        backends={"cuda": cuda, "triton": triton},
        sheet=sheet,
        views={"cuda": cuda.view, "triton": triton.view},
        measure_again=partial(measured, 0.0),
        gpu=gpu,
        lock=lock,
    )


def known_sheet(directory: Path, device: str) -> DeviceSheet | None:
    """The newest measurement of a device that lies under a directory, without measuring; None where there is none."""
    files = sorted((directory / "devices").glob(f"{device}-*.json"), key=lambda path: path.stat().st_mtime)
    try:
        return loads(DeviceSheet, files[-1].read_text(encoding="utf-8")) if files else None
    except (OSError, CodecError):
        return None
