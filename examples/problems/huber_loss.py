"""Mean Huber loss between two tensors."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """mean of ½d² where |d| ≤ delta, else delta·(|d| − ½delta)."""

    def __init__(self, delta: float) -> None:
        super().__init__()
        self.delta = delta

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """predictions and targets (rows, columns) → scalar."""
        return F.huber_loss(predictions, targets, delta=self.delta)


def get_inputs():
    return _inputs(4096, 1024)


def get_init_inputs():
    return [0.75]


def _inputs(rows, columns):
    return [torch.randn(rows, columns), torch.randn(rows, columns)]


def _odd():
    return _inputs(33, 101)


HELD_OUT = [_odd]
