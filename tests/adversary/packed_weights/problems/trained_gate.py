import torch


class Model(torch.nn.Module):
    def __init__(self, rows, columns):
        super().__init__()
        self.gate = torch.nn.Parameter(torch.randn(rows, columns))

    def forward(self, x):
        return torch.sigmoid(self.gate) * x


def get_inputs():
    return [torch.randn(512, 512)]


def get_init_inputs():
    return [512, 512]


BACKWARD = True
