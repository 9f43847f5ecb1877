"""Rotary position embedding: halves of each head are turned by an angle of their position."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, cosine, sine):
        first, second = x.chunk(2, dim=-1)
        turned = torch.cat((-second, first), dim=-1)
        return x * cosine + turned * sine


def get_inputs():
    return [torch.randn(4, 16, 512, 64), torch.randn(512, 64), torch.randn(512, 64)]


def get_init_inputs():
    return []
