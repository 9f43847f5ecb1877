import torch


class Model(torch.nn.Module):
    """Where each value belongs in a sorted row of knots."""

    def forward(self, knots, x):
        return torch.searchsorted(knots, x)


def get_inputs():
    return [torch.rand(64, 1024).sort(dim=1).values, torch.rand(64, 2048)]


def get_init_inputs():
    return []
