import torch


class Model(torch.nn.Module):
    """A transposed convolution, a second bias, and what lies between zero and one of it."""

    def __init__(self, channels, features, size, stride, padding):
        super().__init__()
        self.conv = torch.nn.ConvTranspose2d(channels, features, size, stride=stride, padding=padding)
        self.bias = torch.nn.Parameter(torch.randn(features, 1, 1))

    def forward(self, x):
        return torch.clamp(self.conv(x) + self.bias, 0.0, 1.0)


def get_inputs():
    return [torch.randn(2, 16, 24, 24)]


def get_init_inputs():
    return [16, 16, 3, 2, 1]
