import torch


class Model(torch.nn.Module):
    """Token, position and segment embeddings, their sum normalised, and a projection."""

    def __init__(self, tokens, positions, d, h):
        super().__init__()
        self.tokens = torch.nn.Embedding(tokens, d)
        self.positions = torch.nn.Embedding(positions, d)
        self.kinds = torch.nn.Embedding(2, d)
        self.norm = torch.nn.LayerNorm(d)
        self.projection = torch.nn.Linear(d, h)

    def forward(self, ids, kinds, first=0):
        places = torch.arange(first, first + ids.shape[1])
        return self.projection(self.norm(self.tokens(ids) + self.positions(places) + self.kinds(kinds)))


def get_inputs():
    return [torch.randint(0, 1000, (8, 64)), torch.randint(0, 2, (8, 64))]


def get_init_inputs():
    return [1000, 512, 96, 128]
