"""A strided, grouped, dilated transposed filter over images, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.ConvTranspose2d(
            32, 64, (3, 5), stride=(2, 3), padding=(1, 2), dilation=(2, 1), groups=4, bias=False
        )

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(16, 32, 128, 256)]


def get_init_inputs():
    return []
