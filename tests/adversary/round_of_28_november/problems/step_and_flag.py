import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return 0.5 * x + 0.5 * y, (x - y).abs().amax() < 1e-6


def get_inputs():
    return [torch.randn(512, 1024), torch.randn(512, 1024)]


def get_init_inputs():
    return []
