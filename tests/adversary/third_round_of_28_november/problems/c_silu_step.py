import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.silu(x)


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []


BACKWARD = True
