"""The gate of SwiGLU, bfloat16."""

import torch


class Model(torch.nn.Module):
    def forward(self, gate, up):
        return torch.nn.functional.silu(gate) * up


def get_inputs():
    return [torch.randn(8192, 11008).bfloat16(), torch.randn(8192, 11008).bfloat16()]


def get_init_inputs():
    return []
