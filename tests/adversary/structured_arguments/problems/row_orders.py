import torch


class Model(torch.nn.Module):
    """Puts each row into an order of its own. Each row of `order` is a permutation."""

    def forward(self, x, order):
        return torch.relu(x.gather(1, order))


def get_inputs():
    return [torch.randn(512, 256), torch.rand(512, 256).argsort(dim=1)]


def get_init_inputs():
    return []
