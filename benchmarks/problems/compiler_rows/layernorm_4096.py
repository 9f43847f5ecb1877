"""LayerNorm of 4096 rows of 4096, float16."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = torch.nn.LayerNorm(width, dtype=torch.float16)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.randn(4096, 4096).half()]


def get_init_inputs():
    return [4096]
