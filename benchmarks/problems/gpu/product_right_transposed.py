"""A product with a transposed right factor, float32."""

import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b.T)


def get_inputs():
    return [torch.rand(2048, 8192), torch.rand(4096, 8192)]


def get_init_inputs():
    return []
