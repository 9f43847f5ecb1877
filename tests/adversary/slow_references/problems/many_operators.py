import torch


class Model(torch.nn.Module):
    def forward(self, x):
        for _ in range(24):
            x = x * 0.75 + 0.125
        return torch.nn.functional.silu(x)


def get_inputs():
    return [torch.randn(1024, 1024)]


def get_init_inputs():
    return []
