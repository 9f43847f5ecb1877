import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    """A layer norm, to be trained."""

    def __init__(self, features):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(features))
        self.bias = torch.nn.Parameter(torch.zeros(features))

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias)


def get_inputs():
    return [torch.randn(1024, 512)]


def get_init_inputs():
    return [512]


BACKWARD = True
