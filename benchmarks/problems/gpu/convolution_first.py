"""A large strided filter over three channels, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 96, 11, stride=4, padding=2)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(128, 3, 224, 224)]


def get_init_inputs():
    return []
