"""Rotary position embedding of queries and keys, forward and backward. The tables have no gradient, so the inputs that
have one are marked with `requires_grad=True`."""

import torch
from torch import nn


class Model(nn.Module):
    """x · cos + (−second half, first half of x) · sin, for queries and keys."""

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """q, k (batch, heads, steps, features), cos, sin (steps, features) → q and k, turned."""
        return _turned(q, cos, sin), _turned(k, cos, sin)


def _turned(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def get_inputs():
    return _inputs(2, 8, 512)


def get_init_inputs():
    return []


def _inputs(batch, heads, steps):
    angle = torch.rand(steps, 1) * torch.logspace(0, -3, 32)
    cos, sin = (torch.cat((part, part), dim=-1) for part in (angle.cos(), angle.sin()))
    q, k = (torch.randn(batch, heads, steps, 64, requires_grad=True) for _ in range(2))
    return [q, k, cos, sin]


def _odd_steps():
    return _inputs(3, 2, 77)


INPUT_SETS = [_odd_steps]
BACKWARD = True
