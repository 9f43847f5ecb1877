import torch


class Model(torch.nn.Module):
    def forward(self, p, m, v):
        return p - 1e-3 * m / (v.sqrt() + 1e-8)


def get_inputs():
    return [torch.randn(128, 512), torch.randn(128, 512), torch.rand(128, 512) + 0.01]


def get_init_inputs():
    return []
