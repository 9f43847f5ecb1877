"""Attention with heads of 64, float16."""

import torch


class Model(torch.nn.Module):
    def forward(self, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def get_inputs():
    return [torch.randn(8, 16, 2048, 64).half() for _ in range(3)]


def get_init_inputs():
    return []
