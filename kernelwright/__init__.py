"""Writes, verifies and optimises compute kernels: `solve` and `optimize` are for scripts and notebooks.

Both are imported when they are first used, so that `import kernelwright` stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelwright.optimized_functions.job import solve
    from kernelwright.optimized_functions.optimized import optimize

__all__ = ["optimize", "solve"]

_HOMES = {"solve": "kernelwright.optimized_functions.job", "optimize": "kernelwright.optimized_functions.optimized"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
