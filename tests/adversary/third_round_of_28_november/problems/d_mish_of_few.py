import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.mish(x)


def get_inputs():
    return [torch.randn(32, 1000)]


def get_init_inputs():
    return []
