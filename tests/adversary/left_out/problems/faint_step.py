import torch


class Model(torch.nn.Module):
    def forward(self, p, g, m):
        m = 0.9 * m + 0.1 * g
        return p - 1e-5 * m, m


def get_inputs():
    return [torch.randn(512, 512), torch.randn(512, 512), torch.randn(512, 512)]


def get_init_inputs():
    return []
