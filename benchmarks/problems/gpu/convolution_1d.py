"""A dilated, strided filter over sequences, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv1d(64, 128, 3, stride=3, dilation=4, bias=False)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(32, 64, 131072)]


def get_init_inputs():
    return []
