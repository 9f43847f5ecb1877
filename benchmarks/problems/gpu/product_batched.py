"""128 products, float32."""

import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b)


def get_inputs():
    return [torch.rand(128, 512, 1024), torch.rand(128, 1024, 2048)]


def get_init_inputs():
    return []
