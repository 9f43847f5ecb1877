"""Entry of the compile sandbox: run a Triton candidate's forward without a GPU, and pass on the code of its kernels.

Tensors are torch's fake ones, which have shapes and no memory, and a launch compiles and does nothing else: so kernels
are compiled for the types, constants and divisibility that the problem's inputs lead to. Runs foreign code; what it
says is looked at and judges nobody. Message in: `{"source", "problem", "architecture"}`; out: `{"kernels": [{"name",
"ptx", "cubin" (base64), "configurations"}], "raised": text}`.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
import socket
import tempfile
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import torch

from services.domain.events import JsonValue
from workers.ipc.wire import Channel
from workers.runner.model import construct, import_source

MAX_KERNELS = 16
CANDIDATE = "candidate"


def serve(connection: socket.socket) -> None:
    """Receive a candidate and its problem, answer with the kernels, end without cleaning up."""
    channel = Channel(connection)
    body = channel.receive(timeout_s=30.0).body
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
    kernels: dict[str, JsonValue] = {}
    raised = ""
    try:
        with _compiling(int(str(body["architecture"])[:2]), kernels):
            _forward(str(body["source"]), str(body["problem"]))
    except BaseException as error:  # noqa: BLE001 - the candidate's exception, SystemExit too
        raised = f"{type(error).__name__}: {error}"[:500]
    channel.send({"kernels": list(kernels.values()), "raised": raised})
    os._exit(0)


def _forward(source: str, problem: str) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    device = torch.device("cuda", 0)
    candidate = import_source(source, CANDIDATE)
    reference = import_source(problem, "problem")
    made_on = device if torch.version.cuda else torch.device("cpu")  # without CUDA there are no random numbers on it
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        with made_on:
            model = construct(candidate, "ModelNew", reference.get_init_inputs(), seed=0)
        _place(model, device)
        with device:
            model(*(one.to(device) if isinstance(one, torch.Tensor) else one for one in reference.get_inputs()))


def _place(model: torch.nn.Module, device: torch.device) -> None:
    """Put a model's fake parameters and buffers on a device, as `Module.to` can't: it swaps tensors."""
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None and parameter.device != device:
                moved = torch.empty_like(parameter, device=device)
                module._parameters[name] = torch.nn.Parameter(moved, requires_grad=False)
        for name, buffer in module._buffers.items():
            if buffer is not None and buffer.device != device:
                module._buffers[name] = torch.empty_like(buffer, device=device)


class _Pointer:
    """What Triton asks of a tensor when it compiles: a type, and an address for its divisibility."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.dtype = tensor.dtype
        self.shape = tensor.shape
        self.stride = tensor.stride
        self._address = int(tensor.storage_offset()) * tensor.element_size()

    def data_ptr(self) -> int:
        """As if its storage began at address 0: allocators align storages."""
        return self._address


class _NoGpu:
    """A driver for a target that is not there."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def get_current_target(self) -> Any:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def get_benchmarker(self) -> Any:
        return lambda *_arguments, **_options: [0.0]

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"asking the GPU ({name}) needs one")


@contextlib.contextmanager
def _compiling(architecture: int, kernels: dict[str, JsonValue]) -> Iterator[None]:
    """Launches compile into `kernels`; of several configurations the first counts, since none can be timed."""
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia.compiler import CUDABackend
    from triton.runtime import driver
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    launch, tune, make_ptx = JITFunction.run, Autotuner.run, CUDABackend.make_ptx
    choices = [1]

    def compile_only(self: Any, *arguments: Any, grid: Any, warmup: bool, **options: Any) -> Any:  # noqa: ARG001
        options = {name: _shown(value) for name, value in options.items()}
        made = launch(self, *map(_shown, arguments), grid=grid, warmup=True, **options)
        if len(kernels) < MAX_KERNELS:
            kernels.setdefault(made.hash, _kernel(made, choices[-1]))
        return made

    def first(self: Any, *arguments: Any, **options: Any) -> Any:
        choices.append(len(self.configs))
        try:
            return tune(self, *arguments, **options)
        finally:
            choices.pop()

    driver.set_active(_NoGpu(GPUTarget("cuda", architecture, 32)))
    with (
        patch.object(JITFunction, "run", compile_only),
        patch.object(Autotuner, "run", first),
        patch.object(Autotuner, "_bench", lambda *_arguments, **_options: 0.0),
        patch.object(CUDABackend, "make_ptx", lambda *arguments: one_place_per_asm(make_ptx(*arguments))),
        patch.object(torch.cuda, "device", lambda _device: contextlib.nullcontext()),
        patch.object(torch.cuda, "current_device", lambda: 0),
        patch.object(torch.cuda, "get_device_capability", lambda _device=None: divmod(architecture, 10)),
    ):
        yield


_ASM = re.compile(r"// begin inline asm\n.*?// end inline asm", re.DOTALL)
_LOC = re.compile(r"^\s*\.loc\s.*\n", re.MULTILINE)


def one_place_per_asm(ptx: str) -> str:
    """PTX without the places within inline assembly: LLVM counts its lines on from the line that holds it."""
    return _ASM.sub(lambda found: _LOC.sub("", found[0]), ptx)


def _shown(value: Any) -> Any:
    return _Pointer(value) if isinstance(value, torch.Tensor) else value


def _kernel(made: Any, configurations: int) -> JsonValue:
    return {
        "name": str(made.name),
        "ptx": str(made.asm["ptx"]),
        "cubin": base64.b64encode(made.asm["cubin"]).decode(),
        "configurations": configurations,
    }
