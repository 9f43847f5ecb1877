import torch


class Model(torch.nn.Module):
    """A projection that keeps a running mean of the lengths of its rows, for whoever watches it."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(512))
        self.register_buffer("length", torch.ones(()))

    def forward(self, x):
        self.length.mul_(0.95).add_(x.square().sum(-1).sqrt().mean(), alpha=0.05)
        return x * self.weight


def get_inputs():
    return [torch.randn(1024, 512)]


def get_init_inputs():
    return []
