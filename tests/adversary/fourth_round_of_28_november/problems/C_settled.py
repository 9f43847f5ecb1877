import torch


class Model(torch.nn.Module):
    """A layer that is the fixed point of another one: its weight is scaled such that forty steps reach it."""

    def __init__(self, features):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(features, features))

    def forward(self, x):
        weight = 0.8 * self.weight.T / self.weight.norm()
        z = torch.zeros_like(x)
        for _ in range(60):
            z = z @ weight + x
            z = z / (1 + z.abs())
        return z


def get_inputs():
    return [torch.randn(256, 64)]


def get_init_inputs():
    return [64]
