"""A sparse matrix with as many entries in each row (ELL) times a vector."""

import torch


class Model(torch.nn.Module):
    def forward(self, columns, values, x):
        return (values * x[columns]).sum(dim=1)


def get_inputs():
    return [torch.randint(16384, (16384, 48)), torch.randn(16384, 48), torch.randn(16384)]


def get_init_inputs():
    return []
