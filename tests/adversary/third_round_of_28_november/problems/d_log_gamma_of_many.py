import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.lgamma(x)


def get_inputs():
    return [10.0 * torch.rand(30, 1000) + 0.1]


def get_init_inputs():
    return []
