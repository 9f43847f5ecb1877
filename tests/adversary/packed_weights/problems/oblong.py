import torch


class Model(torch.nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(outer, inner) / inner**0.5)
        self.bias = torch.nn.Parameter(torch.zeros(outer))

    def forward(self, x):
        return x @ self.weight.t() + self.bias


def get_inputs():
    return [torch.randn(512, 64)]


def get_init_inputs():
    return [64, 96]
