import torch


class Model(torch.nn.Module):
    def forward(self, x, taps):
        width = x.shape[-1] - len(taps) + 1
        return sum(tap * x[:, i : i + width] for i, tap in enumerate(taps))


def get_inputs():
    return [torch.randn(512, 512), [0.25, 0.5, 0.25]]


def get_init_inputs():
    return []
