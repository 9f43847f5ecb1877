"""A square filter over images, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(64, 128, 3, padding=1, bias=False)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(16, 64, 256, 256)]


def get_init_inputs():
    return []
