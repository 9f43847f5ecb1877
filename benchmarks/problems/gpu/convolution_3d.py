"""An oblong filter over volumes of three channels, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv3d(3, 64, (3, 5, 7), bias=False)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(8, 3, 64, 64, 64)]


def get_init_inputs():
    return []
