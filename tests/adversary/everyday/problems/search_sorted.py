import torch


class Model(torch.nn.Module):
    def forward(self, x, borders):
        return torch.searchsorted(borders, x)


def get_inputs():
    return [torch.randn(512, 256), torch.randn(1000).sort().values]


def get_init_inputs():
    return []
