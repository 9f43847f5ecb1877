"""A depthwise filter with padding, float16."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(128, 128, 3, padding=1, groups=128).half()

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(32, 128, 256, 256).half()]


def get_init_inputs():
    return []
