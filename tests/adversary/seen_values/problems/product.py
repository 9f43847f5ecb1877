import torch


class Model(torch.nn.Module):
    def forward(self, x, w):
        return x @ w


def get_inputs():
    return [torch.randn(768, 768), torch.randn(768, 768)]


def get_init_inputs():
    return []
