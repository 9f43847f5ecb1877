"""Eight groups over images, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.layer = torch.nn.GroupNorm(groups, channels)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.randn(32, 64, 256, 256)]


def get_init_inputs():
    return [8, 64]
