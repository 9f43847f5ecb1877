import torch


class Model(torch.nn.Module):
    def forward(self, x, residual=None):
        y = torch.tanh(x)
        return y if residual is None else y + residual


def get_inputs():
    return [torch.randn(512, 512), None]


def get_init_inputs():
    return []
