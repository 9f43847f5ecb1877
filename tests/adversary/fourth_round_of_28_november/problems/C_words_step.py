import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    """Rows of a table for tokens, and a ReLU, to be trained."""

    def __init__(self, words, features):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(words, features))

    def forward(self, tokens):
        return F.embedding(tokens, self.table).relu()


def get_inputs():
    return [torch.randint(0, 50000, (8, 64))]


def get_init_inputs():
    return [50000, 16]


BACKWARD = True
