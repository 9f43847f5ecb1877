"""Input draws: what a candidate is tried on. All derived from the problem's own inputs, so that they are valid."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

SAMPLE = 1024
FEW_VALUES = 16
LARGE = 64.0
TINY = 1e-3
PATTERN = 4099
"""Random factors before they repeat: prime, so that they fall differently on every row."""

Transform = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A way to change drawn inputs."""

    name: str
    transform: Transform | None
    """Applied to every continuous floating-point tensor; None leaves the draw as the problem made it."""


def _mixed(tensor: torch.Tensor) -> torch.Tensor:
    """Random signs, and magnitudes spread over three decades."""
    sign = torch.randint(0, 2, (PATTERN,), device=tensor.device) * 2 - 1
    pattern = (sign * torch.pow(10.0, torch.rand(PATTERN, device=tensor.device) * 3 - 2)).to(tensor.dtype)
    repeated = pattern.repeat(-(-tensor.numel() // PATTERN))[: tensor.numel()]
    return tensor * repeated.view(tensor.shape)


OWN = Distribution(name="own", transform=None)
DISTRIBUTIONS = (
    OWN,
    Distribution(name="large", transform=lambda tensor: tensor * LARGE),
    Distribution(name="tiny", transform=lambda tensor: tensor * TINY),
    Distribution(name="mixed signs", transform=_mixed),
)


def is_continuous(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds general numbers rather than a mask, labels or codes."""
    if not tensor.is_floating_point() or tensor.numel() < 2:
        return False
    flat = tensor.reshape(-1)
    places = torch.linspace(0, flat.numel() - 1, min(SAMPLE, flat.numel()), device=tensor.device)
    sample = flat[places.long().clamp_(max=flat.numel() - 1)]
    if not bool(torch.isfinite(sample).all()):
        return False
    return int(torch.unique(sample).numel()) > min(FEW_VALUES, sample.numel() // 2)


def transformed(value: Any, transform: Transform | None) -> Any:
    """A nested value with its continuous tensors changed."""
    if isinstance(value, torch.Tensor):
        return transform(value) if transform is not None and is_continuous(value) else value
    if isinstance(value, dict):
        return {key: transformed(item, transform) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(transformed(item, transform) for item in value)
    return value


def rebuilt(value: Any, tensors: Sequence[torch.Tensor]) -> Any:
    """A nested value with its tensors replaced, in the order of `flatten`."""
    return _rebuild(value, list(reversed(tensors)))


def _rebuild(value: Any, stack: list[torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return stack.pop()
    if isinstance(value, dict):
        return {key: _rebuild(item, stack) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_rebuild(item, stack) for item in value)
    return value


def cut_along(tensors: Sequence[torch.Tensor], *, last: bool, generator: random.Random) -> list[torch.Tensor] | None:
    """Smaller inputs: the first (or last) dimension that the tensors share, cut to an odd size; None if there is none.

    The dimension is the first tensor's; every tensor with the same size there is cut with it.
    """
    axis = -1 if last else 0
    if not tensors or tensors[0].dim() < (2 if last else 1):
        return None
    size = tensors[0].shape[axis]
    if size < 4:
        return None
    new = min(generator.randrange(size // 2, size), 515 if last else 67)
    new -= 1 - new % 2
    return [
        tensor.narrow(axis, 0, new).contiguous() if tensor.dim() and tensor.shape[axis] == size else tensor
        for tensor in tensors
    ]
