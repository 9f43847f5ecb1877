"""LayerNorm, half precision."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width, dtype=torch.float16)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(8192, 8192).half()]


def get_init_inputs():
    return [8192]
