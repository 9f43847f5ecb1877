import torch


class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(features) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + 1e-6) * self.weight


def get_inputs():
    return [torch.randn(512, 512)]


def get_init_inputs():
    return [512]
