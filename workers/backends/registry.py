"""Backends by name: those that come with the program, and those that other packages plug in (`plugged.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from services.domain.errors import ConfigurationError
from services.ports.devices import KernelBackend
from services.ports.sandboxes import Sandbox
from workers.backends.cpp import CppBackend
from workers.backends.cuda import CudaBackend
from workers.backends.plugged import plugged_in
from workers.backends.triton import TritonBackend

FACTORIES: Mapping[str, Callable[[Sandbox, Path], KernelBackend]] = {
    "cpp": CppBackend,
    "cuda": CudaBackend,
    "triton": TritonBackend,
}


def make_backend(name: str, sandbox: Sandbox, cache_dir: Path) -> KernelBackend:
    """The backend called `name`. Raises `ConfigurationError` for a name nobody knows, or a package that fails."""
    if name in FACTORIES:
        return FACTORIES[name](sandbox, cache_dir)
    others = plugged_in()
    if name not in others:
        raise ConfigurationError(f"unknown backend `{name}`; known: {', '.join(sorted({*FACTORIES, *others}))}")
    point = others[name]
    try:
        made: KernelBackend = point.load()(sandbox, cache_dir)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise ConfigurationError(f"the backend `{name}` of {point.value} cannot be used: {what}") from error
    return made
