import torch


class Model(torch.nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = torch.nn.GroupNorm(groups, channels)

    def forward(self, x):
        return torch.nn.functional.silu(self.norm(x))


def get_inputs():
    return [torch.randn(4, 32, 32, 32)]


def get_init_inputs():
    return [8, 32]
