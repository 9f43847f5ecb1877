import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(256)
    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(2048, 256)]


def get_init_inputs():
    return []
