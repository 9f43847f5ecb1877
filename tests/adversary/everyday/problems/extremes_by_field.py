from dataclasses import dataclass

import torch


@dataclass
class Extremes:
    low: torch.Tensor
    high: torch.Tensor
    places: tuple


class Model(torch.nn.Module):
    def forward(self, x):
        low, high = x.min(dim=1), x.max(dim=1)
        return Extremes(low.values, high.values, (low.indices, high.indices))


def get_inputs():
    return [torch.randn(512, 512)]
