import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sigmoid(x)


def get_inputs():
    return [torch.randn(509, 512)]


def get_init_inputs():
    return []


BACKWARD = True
