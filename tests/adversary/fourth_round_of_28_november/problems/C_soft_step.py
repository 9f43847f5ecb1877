import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    """Softsign, to be trained."""

    def forward(self, x):
        return F.softsign(x)


def get_inputs():
    return [torch.randn(512, 512)]


def get_init_inputs():
    return []


BACKWARD = True
