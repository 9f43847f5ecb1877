import torch


class Model(torch.nn.Module):
    """Adds a residual and normalises."""

    def __init__(self, features):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(features))

    def forward(self, x, residual):
        h = x + residual
        return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


def get_inputs():
    return [torch.randn(1024, 256), torch.randn(1024, 256)]


def get_init_inputs():
    return [256]


BACKWARD = True
