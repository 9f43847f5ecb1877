"""Causal attention, bfloat16."""

import torch


class Model(torch.nn.Module):
    def forward(self, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def get_inputs():
    return [torch.randn(4, 32, 2048, 128).bfloat16() for _ in range(3)]


def get_init_inputs():
    return []
