import torch


class Model(torch.nn.Module):
    """How far a signal is from its running mean, which is kept by the caller."""

    def forward(self, x, mean):
        mean.mul_(0.9).add_(x, alpha=0.1)
        return x - mean


def get_inputs():
    return [torch.randn(512, 512), torch.randn(512, 512)]


def get_init_inputs():
    return []
