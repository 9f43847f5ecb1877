import torch


class Model(torch.nn.Module):
    def forward(self, x, edges):
        return torch.searchsorted(edges, x, right=True)


def get_inputs():
    return [torch.randn(256, 256) * 10, (torch.rand(33) + 0.1).cumsum(0)]


def get_init_inputs():
    return []
