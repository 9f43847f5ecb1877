import torch


class Model(torch.nn.Module):
    """Hashes rows by the side of random planes on which they lie."""

    def __init__(self, features, planes):
        super().__init__()
        self.register_buffer("planes", torch.randn(planes, features))

    def forward(self, x):
        above = x @ self.planes.t() > 0
        return (above.long() << torch.arange(self.planes.shape[0])).sum(dim=-1)


def get_inputs():
    return [torch.randn(4096, 64)]


def get_init_inputs():
    return [64, 16]
