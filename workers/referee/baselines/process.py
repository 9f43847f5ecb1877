"""The baseline process: the reference itself, eager and compiled, behind the very protocol that times candidates.

It is a process of its own (problem code is untrusted, and a compiler's thread pool must not disturb the referee).
Compiler caches live in the process's private temporary directory and go with it, so no job can poison another's.
"""

from __future__ import annotations

import os
import socket
from typing import Any

import torch

from workers.ipc.placement import CudaTensorDevice, TensorDevice
from workers.ipc.wire import Channel, Message
from workers.referee.baselines.parallel_compile import compile_side_by_side
from workers.referee.compiler_draft.capture import TUNED
from workers.runner.answers import Acknowledged, CodeDrafted
from workers.runner.protocol import AddIdle, CompileModel, DraftCode, RunnerRequest
from workers.runner.session import Act, RunnerServer
from workers.runner.step import ModelStep

MODES: dict[str, dict[str, Any]] = {
    "compile": {},
    "max-autotune-no-cudagraphs": {"mode": "max-autotune-no-cudagraphs"},
    "tuned": {"options": TUNED},
}
"""Options of torch.compile, by the name of a compiled model."""
ANY_SIZES = ":any sizes"
"""Ends the name of a compiled model that is compiled for any size."""
RECOMPILATIONS = 64
"""Dynamo gives up after 8 by default and runs the model in eager mode: a problem has up to 48 input sets."""


class BaselineSession(RunnerServer):
    """A runner session that builds `Model` and can compile it."""

    module_name = "kernelwright_problem"
    class_name = "Model"
    loads_built = False

    def _acts(self) -> dict[type[RunnerRequest], Act]:
        return {**super()._acts(), CompileModel: self._compile, AddIdle: self._add_idle, DraftCode: self._draft}

    def _compile(self, asked: CompileModel, _message: Message) -> Acknowledged:
        name = asked.model
        options = {"dynamic": name.endswith(ANY_SIZES), **MODES[name.removesuffix(ANY_SIZES)]}
        _save_compile_time(gpu=self._place.is_gpu)
        torch._dynamo.config.recompile_limit = RECOMPILATIONS
        plain: Any = self._models["plain"]
        if isinstance(plain, ModelStep):  # the compiler makes both passes of the model's: a step is no part of it
            self._add(name, plain.through(torch.compile(plain.model, **options)))
        else:
            self._models[name] = torch.compile(plain, **options)
        return Acknowledged()

    def _add_idle(self, asked: AddIdle, _message: Message) -> Acknowledged:
        """Add the model `idle`: it returns what `plain` returns for a slot, without computing anything. What a call of
        it takes is the protocol's own time, the copy of the outputs and the wait for cotangents included."""
        arguments = self._slots[asked.slot][0]
        plain = self._models["plain"]
        self._slot = asked.slot
        outputs = plain(*arguments)
        forward = outputs[0] if isinstance(plain, ModelStep) else None
        wait = plain.before_backward if isinstance(plain, ModelStep) else None

        def idle(*_arguments: Any) -> Any:
            if wait is not None:
                wait(forward)
            return outputs

        self._models["idle"] = idle
        return Acknowledged()

    def _draft(self, asked: DraftCode, _message: Message) -> CodeDrafted:
        """The compiler's own code as a candidate, or why there is none."""
        from workers.referee.compiler_draft import draft as drafting

        _save_compile_time(gpu=self._place.is_gpu)
        slots = [self._slots[slot][0] for slot in asked.slots]
        return drafting.draft(self._models["plain"], slots, asked.name, frozenset(asked.library), asked.way)


def serve(connection: socket.socket, place: TensorDevice | None = None) -> None:
    """Entry point of the baseline process."""
    BaselineSession(Channel(connection), place).run()
    os._exit(0)


def serve_on_gpu(connection: socket.socket) -> None:
    """The same on the GPU."""
    serve(connection, CudaTensorDevice())


def _save_compile_time(*, gpu: bool) -> None:
    """Leave out what Inductor does once per empty cache, and on a GPU compile what it chooses from at once.

    Measured on two cores: compiling its instruction-set probes takes 6.5 s (they test g++ and torch's headers, which
    the sandbox has tested by then), and the precompiled header 7–12 s, to save 1.8 s on each kernel afterwards.
    """
    import torch._inductor.config as config
    from torch._inductor import cpu_vec_isa

    config.cpp_cache_precompile_headers = False
    config.compile_threads = 1
    if hasattr(cpu_vec_isa.VecISA, "check_build"):
        cpu_vec_isa.VecISA.check_build = lambda _self, _code: True  # type: ignore[method-assign,assignment]
    if gpu:
        compile_side_by_side()
