import torch


class Model(torch.nn.Module):
    """Dropout by a mask that was drawn before, added to a residual; `scale` makes up for what is dropped."""

    def forward(self, x, residual, keep, scale):
        return x * keep * scale + residual


def get_inputs():
    keep = torch.rand(256, 1024) > 0.1
    return [torch.randn(256, 1024), torch.randn(256, 1024), keep, 1 / 0.9]


def get_init_inputs():
    return []
