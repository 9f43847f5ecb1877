import torch


class Model(torch.nn.Module):
    def forward(self, weight, momentum, gradient):
        momentum.mul_(0.9).add_(gradient)
        weight.mul_(1 - 1e-6).add_(momentum, alpha=-0.01)
        return gradient.square().mean()


def get_inputs():
    return [torch.randn(512, 1024), torch.randn(512, 1024), torch.randn(512, 1024)]


def get_init_inputs():
    return []
