import torch


class Model(torch.nn.Module):
    """Moves averages of weights towards the weights, in place."""

    def forward(self, averages, weights, decay):
        for average, weight in zip(averages, weights):
            average.lerp_(weight, 1 - decay)
        return averages


def get_inputs():
    shapes = [(256, 512), (512,), (512, 128)]
    return [[torch.randn(one) for one in shapes], [torch.randn(one) for one in shapes], 0.999]


def get_init_inputs():
    return []
