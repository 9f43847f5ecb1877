import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    """Attention of queries and keys of length one, with a learned temperature for each head."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.full((4, 1, 1), 10.0))

    def forward(self, q, k, v):
        scores = self.scale * (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(1, 2))
        return torch.softmax(scores, dim=-1) @ v


def get_inputs():
    return list(torch.randn(3, 4, 512, 16))


def get_init_inputs():
    return []
