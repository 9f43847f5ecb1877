"""A transposed filter over images, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.ConvTranspose2d(64, 64, 3, bias=False)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(8, 64, 512, 512)]


def get_init_inputs():
    return []
