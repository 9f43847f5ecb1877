import torch


class Model(torch.nn.Module):
    """What growth makes of one unit, step by step."""

    def forward(self, factors):
        return factors.cumprod(dim=1)


def get_inputs():
    return [0.5 + torch.rand(2048, 256)]


def get_init_inputs():
    return []
