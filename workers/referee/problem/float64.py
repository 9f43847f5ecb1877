"""Runs a reference in float64, also where its code names float32: `x.float()`, `dtype=torch.float32`.

Such a name says what the reference computes in on usual inputs. Taken literally, it would put float32's roundings into
the results that others are measured against, as if they were exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch.overrides import TorchFunctionMode

T = TypeVar("T")
_WIDER: dict[Any, torch.dtype] = {torch.float32: torch.float64, torch.complex64: torch.complex128}
_CONVERSIONS: dict[Any, Callable[..., torch.Tensor]] = {
    torch.Tensor.float: torch.Tensor.double,
    torch.Tensor.cfloat: torch.Tensor.cdouble,  # type: ignore[attr-defined]
}


class _LooksAtBitsError(Exception):
    """The reference reads the bits of a number, which float64 has otherwise."""


class _Widening(TorchFunctionMode):
    """Has PyTorch's functions take float64 for float32, and complex128 for complex64, where they are named."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        named = [*args, *(kwargs or {}).values()]
        if func is torch.Tensor.view and any(isinstance(one, torch.dtype) for one in named):
            raise _LooksAtBitsError
        wider = {name: _wider(value) for name, value in (kwargs or {}).items()}
        return _CONVERSIONS.get(func, func)(*map(_wider, args), **wider)


def in_float64(run: Callable[[], T]) -> T:
    """What `run` returns where float64 is the default dtype and stands for every float32 that is named; where that
    cannot be, for the default alone. `run` may be called twice: it has to bring its own copies of what it changes."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        try:
            with _Widening():
                return run()
        except torch.OutOfMemoryError:
            raise
        except Exception:  # noqa: BLE001 - untrusted code that was not written for float64
            return run()
    finally:
        torch.set_default_dtype(usual)


def _wider(value: Any) -> Any:
    return _WIDER.get(value, value) if isinstance(value, torch.dtype) else value
