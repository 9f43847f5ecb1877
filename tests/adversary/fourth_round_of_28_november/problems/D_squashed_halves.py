import torch


class Model(torch.nn.Module):
    """Mish of halves."""

    def forward(self, x):
        return torch.nn.functional.mish(x)


def get_inputs():
    return [torch.randn(1024, 512).half()]


def get_init_inputs():
    return []
