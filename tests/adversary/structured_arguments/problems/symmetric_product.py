import torch


class Model(torch.nn.Module):
    """A symmetric matrix times vectors."""

    def forward(self, matrix, x):
        return matrix @ x


def get_inputs():
    matrix = torch.randn(256, 256)
    return [(matrix + matrix.t()) / 2, torch.randn(256, 16)]


def get_init_inputs():
    return []
