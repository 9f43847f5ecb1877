"""A depthwise filter, then one of one position, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.depthwise = torch.nn.Conv2d(64, 64, 3, padding=1, groups=64, bias=False)
        self.pointwise = torch.nn.Conv2d(64, 128, 1, bias=False)

    def forward(self, x):
        return self.pointwise(self.depthwise(x))


def get_inputs():
    return [torch.rand(16, 64, 256, 256)]


def get_init_inputs():
    return []
