import torch


class Model(torch.nn.Module):
    """Each beam takes the cache of its parent, in place."""

    def forward(self, cache, parents):
        return cache.copy_(cache[parents])


def get_inputs():
    return [torch.randn(24, 4, 32, 16), torch.randint(0, 24, (24,))]


def get_init_inputs():
    return []
