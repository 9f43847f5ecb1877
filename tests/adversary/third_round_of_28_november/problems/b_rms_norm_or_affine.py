import torch


class Model(torch.nn.Module):
    def __init__(self, features, affine):
        super().__init__()
        self.norm = torch.nn.RMSNorm(features, eps=1e-6, elementwise_affine=affine)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(512, 256)]


def get_init_inputs():
    return [256, False]


def _affine():
    return [256, True]


INIT_SETS = [_affine]
