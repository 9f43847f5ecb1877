import torch


class Model(torch.nn.Module):
    def __init__(self, features, gated):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(features))
        self.gated = gated

    def forward(self, x):
        return x * (torch.sigmoid(self.weight) if self.gated else self.weight)


def get_inputs():
    return [torch.randn(512, 256)]


def get_init_inputs():
    return [256, False]


def _gated():
    return [256, True]


INIT_SETS = [_gated]
