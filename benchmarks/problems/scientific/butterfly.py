"""A stage of a fast Fourier transform, in real and imaginary parts: sums, and turned differences."""

import torch


class Model(torch.nn.Module):
    def forward(self, real, imaginary, cosine, sine):
        a, b = real[:, 0], real[:, 1]
        c, d = imaginary[:, 0], imaginary[:, 1]
        x, y = a - b, c - d
        real = torch.stack((a + b, x * cosine - y * sine), dim=1)
        return real, torch.stack((c + d, x * sine + y * cosine), dim=1)


def get_inputs():
    return [torch.randn(1024, 2, 512), torch.randn(1024, 2, 512), torch.randn(512), torch.randn(512)]


def get_init_inputs():
    return []
