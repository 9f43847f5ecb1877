import torch


class Model(torch.nn.Module):
    """A linear layer of 4-bit codes, which a table of sixteen numbers and a magnitude for each block of 64 decode."""

    def __init__(self, features, outs):
        super().__init__()
        self.register_buffer("table", torch.linspace(-1, 1, 16).sin())
        self.register_buffer("codes", torch.randint(0, 256, (outs, features // 2), dtype=torch.uint8))
        self.register_buffer("most", torch.rand(outs, features // 64) + 0.1)

    def forward(self, x):
        both = torch.stack((self.codes >> 4, self.codes & 15), dim=-1).flatten(1).long()
        weight = self.table[both].view(*self.most.shape, 64) * self.most.unsqueeze(-1)
        return x @ weight.flatten(1).T


def get_inputs():
    return [torch.randn(96, 256)]


def get_init_inputs():
    return [256, 160]
