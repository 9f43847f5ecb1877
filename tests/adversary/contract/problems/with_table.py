import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(512, 2048))
    def forward(self, x):
        return torch.relu(x + self.table), self.table.clone()


def get_inputs():
    return [torch.randn(512, 2048)]


def get_init_inputs():
    return []
