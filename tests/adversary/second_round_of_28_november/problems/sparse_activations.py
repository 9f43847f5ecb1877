import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(256, 64) / 16)

    def forward(self, x):
        return x @ self.weight


def get_inputs():
    return [torch.relu(torch.randn(256, 256) - 0.5)]


def get_init_inputs():
    return []
