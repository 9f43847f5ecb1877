import torch


class Model(torch.nn.Module):
    """Two weights, of which the second one is used in the second half of a call only."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Parameter(torch.randn(512, 512))
        self.second = torch.nn.Parameter(torch.randn(512, 512))

    def forward(self, x):
        return torch.tanh(x * self.first) * self.second


def get_inputs():
    return [torch.randn(512, 512)]


def get_init_inputs():
    return []
