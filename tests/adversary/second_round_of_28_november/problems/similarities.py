import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return x @ y.t()


def get_inputs():
    return [torch.randn(160, 64), torch.randn(160, 64)]


def get_init_inputs():
    return []


BACKWARD = True
