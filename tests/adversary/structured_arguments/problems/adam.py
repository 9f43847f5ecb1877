import torch


class Model(torch.nn.Module):
    """One step of AdamW in place; `variance` is a mean of squares, so it is never negative. Steps count from one."""

    def forward(self, weight, gradient, mean, variance, step, rate=1e-3, decay=0.01):
        mean.mul_(0.9).add_(gradient, alpha=0.1)
        variance.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        root = (variance / (1 - 0.999**step)).sqrt_().add_(1e-8)
        weight.mul_(1 - rate * decay).addcdiv_(mean, root, value=-rate / (1 - 0.9**step))
        return weight


def get_inputs():
    return [torch.randn(256, 1024), torch.randn(256, 1024), torch.randn(256, 1024) * 0.1, torch.rand(256, 1024) * 0.01, 10]


def get_init_inputs():
    return []
