"""Causal attention whose keys and values are shared by four heads, bfloat16."""

import torch


class Model(torch.nn.Module):
    def forward(self, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def get_inputs():
    shared = [torch.randn(2, 8, 4096, 128).bfloat16() for _ in range(2)]
    return [torch.randn(2, 32, 4096, 128).bfloat16(), *shared]


def get_init_inputs():
    return []
