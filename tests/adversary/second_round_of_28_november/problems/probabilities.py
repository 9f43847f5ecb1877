import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def forward(self, p, target):
        return F.binary_cross_entropy(p, target, reduction='none')


def get_inputs():
    return [torch.rand(256, 1024), torch.randint(0, 2, (256, 1024)).float()]


def get_init_inputs():
    return []
