import torch


class Model(torch.nn.Module):
    """The nearest vector of a large code book, and where it is."""

    def __init__(self, codes, features):
        super().__init__()
        self.codes = torch.nn.Parameter(torch.randn(codes, features))

    def forward(self, x):
        distance = x.square().sum(dim=-1, keepdim=True) - 2 * x @ self.codes.t() + self.codes.square().sum(dim=-1)
        place = distance.argmin(dim=-1)
        return self.codes[place], place


def get_inputs():
    return [torch.randn(8192, 32)]


def get_init_inputs():
    return [1024, 32]
