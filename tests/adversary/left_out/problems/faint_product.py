import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(256, 256) * 1e-7)

    def forward(self, x):
        return x + x @ self.weight


def get_inputs():
    return [torch.randn(256, 256)]


def get_init_inputs():
    return []
