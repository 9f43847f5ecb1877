"""An oblong, dilated filter over images, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(32, 64, (5, 9), padding=(2, 4), dilation=(2, 3))

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(8, 32, 512, 512)]


def get_init_inputs():
    return []
