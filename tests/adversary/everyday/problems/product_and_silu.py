import torch

LIBRARY = ("matmul",)


class Model(torch.nn.Module):
    def forward(self, x, w):
        return torch.nn.functional.silu(x @ w)


def get_inputs():
    return [torch.randn(512, 128), torch.randn(128, 1024)]


def get_init_inputs():
    return []
