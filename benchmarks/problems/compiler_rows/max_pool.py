"""Maxima of 4 × 4 windows at stride 1, float32."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.max_pool2d(x, kernel_size=4, stride=1)


def get_inputs():
    return [torch.rand(16, 64, 256, 256)]


def get_init_inputs():
    return []
