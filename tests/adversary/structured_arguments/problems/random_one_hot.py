import torch


class Model(torch.nn.Module):
    """Embeds labels that are given as one-hot rows."""

    def __init__(self, kinds, features):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(kinds, features))

    def forward(self, hot):
        return hot @ self.table


def get_inputs():
    return [torch.nn.functional.one_hot(torch.randint(0, 32, (2048,)), 32).float()]


def get_init_inputs():
    return [32, 64]
