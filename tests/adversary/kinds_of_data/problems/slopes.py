import torch


class Model(torch.nn.Module):
    def __init__(self, features, slope=0.1):
        super().__init__()
        self.slope = slope
        self.linear = torch.nn.Parameter(torch.rand(features))

    def forward(self, x):
        scaled = x * self.linear
        return torch.where(scaled > 0, scaled, scaled * self.slope)


def get_inputs():
    return [torch.randn(256, 1024)]


def get_init_inputs():
    return [1024, 0.2]


def steep():
    return {"features": 1024, "slope": 0.9}


def by_default():
    return [1024]


INIT_SETS = [steep, by_default]
