import torch


class Model(torch.nn.Module):
    """One step of Lion in place."""

    def forward(self, weight, gradient, mean, rate=1e-4, decay=0.1):
        update = (mean * 0.9 + gradient * 0.1).sign()
        weight.mul_(1 - rate * decay).sub_(update * rate)
        mean.mul_(0.99).add_(gradient * 0.01)
        return weight


def get_inputs():
    return [torch.randn(256, 512), torch.randn(256, 512), torch.randn(256, 512) * 0.1]


def get_init_inputs():
    return []
