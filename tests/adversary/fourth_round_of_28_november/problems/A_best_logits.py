import torch


class Model(torch.nn.Module):
    """The eight best of each row, as a router or a sampler takes them."""

    def forward(self, x):
        return torch.topk(x, 8, dim=-1).values


def get_inputs():
    return [torch.randn(256, 2048)]


def get_init_inputs():
    return []
