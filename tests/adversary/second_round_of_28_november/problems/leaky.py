import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.leaky_relu(x, 0.1)


def get_inputs():
    return [torch.randn(509, 256)]


def get_init_inputs():
    return []


BACKWARD = True
