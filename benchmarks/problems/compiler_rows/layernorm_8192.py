"""LayerNorm of 8192 rows of 8192, float16."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = torch.nn.LayerNorm(width, dtype=torch.float16)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.randn(8192, 8192).half()]


def get_init_inputs():
    return [8192]
