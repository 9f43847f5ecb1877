"""Running sums of what comes before, float32."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.cat((torch.zeros_like(x[:, :1]), torch.cumsum(x[:, :-1], 1)), 1)


def get_inputs():
    return [torch.rand(16384, 32768)]


def get_init_inputs():
    return []
