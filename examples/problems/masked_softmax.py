"""Scaled softmax under a boolean mask, as in attention scores."""

import torch
from torch import nn


class Model(nn.Module):
    """softmax(masked_fill(scale · scores, mask, -inf)) over the last dimension."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """scores (batch, heads, queries, keys), mask (batch, 1, queries, keys), true where hidden."""
        return torch.softmax((scores * self.scale).masked_fill(mask, float("-inf")), dim=-1)


def get_inputs():
    return _inputs(2, 8, 512, 512)


def get_init_inputs():
    return [0.125]


def _inputs(batch, heads, queries, keys):
    """A mask hides about a third of the keys, never the first, so that no row is empty."""
    mask = torch.rand(batch, 1, queries, keys) < 0.33
    mask[..., 0] = False
    return [torch.randn(batch, heads, queries, keys), mask]


def _odd_keys():
    return _inputs(1, 3, 65, 129)


def _decode():
    return _inputs(2, 8, 1, 333)


INPUT_SETS = [_odd_keys]
HELD_OUT = [_decode]
