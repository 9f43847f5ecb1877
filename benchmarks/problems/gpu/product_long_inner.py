"""A small output from an inner dimension of half a million, float32."""

import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.rand(256, 524288), torch.rand(524288, 256)]


def get_init_inputs():
    return []
