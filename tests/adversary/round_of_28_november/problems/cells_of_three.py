import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.floor(x / 3.0)


def get_inputs():
    return [torch.rand(512, 1024) * 100]


def get_init_inputs():
    return []
