import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 1e-39


def get_inputs():
    return [torch.randn(512, 768)]
