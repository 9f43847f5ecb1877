"""A square filter over images, float16."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(128, 256, 3, padding=1).half()

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(16, 128, 128, 128).half()]


def get_init_inputs():
    return []
