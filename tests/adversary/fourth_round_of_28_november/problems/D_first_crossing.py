import torch


class Model(torch.nn.Module):
    """Place of the first value of each row above the level, -1 where there is none."""

    def forward(self, x, level=2.0):
        above = x > level
        return torch.where(above.any(dim=1), above.to(torch.uint8).argmax(dim=1), -1)


def get_inputs():
    return [torch.randn(256, 8192)]


def get_init_inputs():
    return []
