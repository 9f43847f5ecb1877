import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.silu(x)


def get_inputs():
    return [torch.randn(512, 768)]


def get_init_inputs():
    return []
