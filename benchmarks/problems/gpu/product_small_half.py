"""A product with few rows, float16, as in decoding."""

import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.nn.functional.relu(torch.matmul(a, b))


def get_inputs():
    return [torch.randn(32, 4096).half(), torch.randn(4096, 8192).half()]


def get_init_inputs():
    return []
