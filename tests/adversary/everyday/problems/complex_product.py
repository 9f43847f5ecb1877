import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(96, 128, dtype=torch.complex64), torch.randn(128, 64, dtype=torch.complex64)]


def get_init_inputs():
    return []
