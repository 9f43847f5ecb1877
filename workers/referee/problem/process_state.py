"""Does a problem leave PyTorch and our own modules as it finds them? What it changes there holds for the baseline that
a candidate is timed against, too, and for what is said of the problem itself: its operators and their time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch._compile

_PLACES: Mapping[str, Any] = {
    "torch": torch,
    "torch.Tensor": torch.Tensor,
    "torch.nn.functional": torch.nn.functional,
    "torch.linalg": torch.linalg,
}
"""Whose functions a problem may use, and not replace."""
_OWN = ("workers", "services")
"""Packages of ours, none of whose functions is a problem's to replace."""
_SETTINGS: Mapping[str, Callable[[], Any]] = {
    "the number of threads": torch.get_num_threads,
    "the default dtype": torch.get_default_dtype,
    "whether algorithms are deterministic": torch.are_deterministic_algorithms_enabled,
    "whether oneDNN is used": lambda: torch.backends.mkldnn.enabled,
    "whether cuDNN is used": lambda: torch.backends.cudnn.enabled,
}
"""What makes the same code slower, or has it compute something else."""
_DISABLING = torch._compile._disable_dynamo(len).__code__
"""Code of the wrapper that disables `torch.compile` in a function. PyTorch itself wraps `torch.manual_seed` in it when
`torch._dynamo` is imported."""


def as_found() -> dict[str, Any]:
    """PyTorch's public functions and its settings, and our own functions, by name."""
    own = {
        f"`{place}.{name}`": value
        for place, module in list(sys.modules.items())
        if place.partition(".")[0] in _OWN and module is not None
        for name, value in list(vars(module).items())
        if callable(value)
    }
    functions = own | {
        f"`{place}.{name}`": _unwrapped(value)
        for place, owner in _PLACES.items()
        for name, value in vars(owner).items()
        if callable(value) and not name.startswith("_")
    }
    return {name: read() for name, read in _SETTINGS.items()} | functions  # a setting may change functions


def _unwrapped(value: Any) -> Any:
    return value.__wrapped__ if getattr(value, "__code__", None) is _DISABLING else value


def changed(found: Mapping[str, Any]) -> str | None:
    """The first setting that differs from what was found; settings added since are ignored."""
    now = as_found()
    for name, value in found.items():
        other = now.get(name)
        if name in _SETTINGS and other != value:
            return f"{name} ({value}, then {other})"
        if name not in _SETTINGS and other is not value:
            return name
    return None
