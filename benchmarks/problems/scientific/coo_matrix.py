"""Sorted coordinates (COO) of a sparse matrix times a dense one."""

import torch


class Model(torch.nn.Module):
    def forward(self, rows, columns, values, x):
        return torch.zeros(4096, x.shape[1]).index_add(0, rows, values[:, None] * x[columns])


def get_inputs():
    flat = torch.randint(4096 * 4096 - 65536, (65536,)).sort().values + torch.arange(65536)
    return [flat // 4096, flat % 4096, torch.randn(65536), torch.randn(4096, 32)]


def get_init_inputs():
    return []
