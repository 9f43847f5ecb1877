import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def forward(self, x, weight=None, bias=None):
        return F.layer_norm(x, x.shape[-1:], weight, bias)


def get_inputs():
    return [torch.randn(512, 512)]


def get_init_inputs():
    return []
