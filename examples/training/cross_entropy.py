"""Mean cross-entropy of class indices, forward and backward. The targets are whole numbers and have no gradient."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """mean over rows of logsumexp(logits) − logits[target]."""

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """logits (rows, classes), targets (rows,) of int64 → scalar."""
        return F.cross_entropy(logits, targets)


def get_inputs():
    return _inputs(512, 8000)


def get_init_inputs():
    return []


def _inputs(rows, classes):
    return [torch.randn(rows, classes), torch.randint(0, classes, (rows,))]


def _few_classes():
    return _inputs(301, 97)


BACKWARD = True
INPUT_SETS = [_few_classes]
