import torch


class Model(torch.nn.Module):
    """The likeliest word of each row."""

    def __init__(self, features, words):
        super().__init__()
        self.head = torch.nn.Linear(features, words, bias=False)

    def forward(self, x):
        return self.head(x).argmax(dim=-1)


def get_inputs():
    return [torch.randn(256, 128)]


def get_init_inputs():
    return [128, 4096]
