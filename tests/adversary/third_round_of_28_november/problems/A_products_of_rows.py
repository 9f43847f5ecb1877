import torch


class Model(torch.nn.Module):
    def forward(self, x, w):
        return x @ w


def get_inputs():
    return [torch.randn(256, 128), torch.randn(128, 64)]


def get_init_inputs():
    return []
