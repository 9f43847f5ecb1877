import torch


class Model(torch.nn.Module):
    """A linear layer with an adapter of low rank."""

    def __init__(self, d, h, rank, alpha):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(h, d) * d**-0.5)
        self.down = torch.nn.Parameter(torch.randn(rank, d) * d**-0.5)
        self.up = torch.nn.Parameter(torch.randn(h, rank) * 0.1)
        self.scale = alpha / rank

    def forward(self, x):
        return x @ self.weight.T + (x @ self.down.T) @ self.up.T * self.scale


def get_inputs():
    return [torch.randn(192, 256)]


def get_init_inputs():
    return [256, 320, 8, 16.0]
