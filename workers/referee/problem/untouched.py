"""Does a problem leave PyTorch as it finds it? What it changes there holds for the baseline that a candidate is timed
beside, and for the referee, which judges in the same process."""

from __future__ import annotations

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
_SETTINGS: Mapping[str, Callable[[], Any]] = {
    "the number of threads": torch.get_num_threads,
    "whether algorithms are deterministic": torch.are_deterministic_algorithms_enabled,
    "whether oneDNN is used": lambda: torch.backends.mkldnn.enabled,
    "whether cuDNN is used": lambda: torch.backends.cudnn.enabled,
}
"""What makes the same code slower."""
_DISABLING = torch._compile._disable_dynamo(len).__code__
"""Code of the wrapper that disables `torch.compile` in a function. PyTorch itself wraps `torch.manual_seed` in it when
`torch._dynamo` is imported."""


def as_found() -> dict[str, Any]:
    """PyTorch's public functions and its settings, by name."""
    functions = {
        f"`{place}.{name}`": _unwrapped(value)
        for place, owner in _PLACES.items()
        for name, value in vars(owner).items()
        if callable(value) and not name.startswith("_")
    }
    return functions | {name: read() for name, read in _SETTINGS.items()}


def _unwrapped(value: Any) -> Any:
    return value.__wrapped__ if getattr(value, "__code__", None) is _DISABLING else value


def changed(found: Mapping[str, Any]) -> str | None:
    """The first of what was found that is another now; what has come since is nobody's."""
    now = as_found()
    for name, value in found.items():
        other = now.get(name)
        if name in _SETTINGS and other != value:
            return f"{name} ({value}, then {other})"
        if name not in _SETTINGS and other is not value:
            return name
    return None
