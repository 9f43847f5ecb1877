import torch


class Model(torch.nn.Module):
    def forward(self, x, w):
        return x @ w


def get_inputs():
    return [torch.randn(256, 320), torch.randn(320, 192)]


def get_init_inputs():
    return []
