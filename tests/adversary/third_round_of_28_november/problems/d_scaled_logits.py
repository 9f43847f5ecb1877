import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x * 0.125, dim=-1)


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
