import torch


class Model(torch.nn.Module):
    """One step of gradient descent with momentum after Nesterov, in place."""

    def __init__(self, momentum, decay):
        super().__init__()
        self.momentum = momentum
        self.decay = decay

    def forward(self, weight, gradient, velocity, rate):
        full = gradient + self.decay * weight
        velocity.mul_(self.momentum).add_(full)
        weight.add_(full + self.momentum * velocity, alpha=-rate)
        return weight


def get_inputs():
    return [torch.randn(512, 512), torch.randn(512, 512), torch.randn(512, 512), 0.01]


def get_init_inputs():
    return [0.9, 1e-4]
