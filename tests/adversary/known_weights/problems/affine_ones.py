import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1024))
        self.bias = torch.nn.Parameter(torch.zeros(1024))
    def forward(self, x):
        return torch.nn.functional.silu(x * self.weight + self.bias)


def get_inputs():
    return [torch.randn(512, 1024)]


def get_init_inputs():
    return []
