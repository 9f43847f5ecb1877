import torch


class Model(torch.nn.Module):
    """One step of LAMB in place."""

    def forward(self, weight, gradient, mean, square, rate=1e-3):
        mean.mul_(0.9).add_(gradient * 0.1)
        square.mul_(0.99).add_(gradient * gradient * 0.01)
        update = mean / (square.sqrt() + 1e-6) + 0.01 * weight
        ratio = weight.norm() / (update.norm() + 1e-6)
        weight.sub_(rate * ratio * update)
        return ratio


def get_inputs():
    return [torch.randn(512, 512), torch.randn(512, 512), torch.randn(512, 512) * 0.1, torch.rand(512, 512)]


def get_init_inputs():
    return []
