import math

import torch


class Model(torch.nn.Module):
    """Causal attention in which groups of heads share keys and values: expanded, not copied."""

    def forward(self, q, k, v):
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
        return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1) @ v


def get_inputs():
    def shared():
        return torch.randn(2, 2, 1, 96, 32).expand(2, 2, 4, 96, 32)

    return [torch.randn(2, 2, 4, 96, 32), shared(), shared()]
