"""A strided transposed filter over volumes, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.ConvTranspose3d(32, 32, 3, stride=2, padding=1, bias=False)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(4, 32, 32, 64, 128)]


def get_init_inputs():
    return []
