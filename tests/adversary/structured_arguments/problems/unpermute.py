import torch


class Model(torch.nn.Module):
    """Moves rows back from the order of their experts. `inverse` is the inverse of the permutation `order`."""

    def forward(self, x, order, inverse, scale):
        y = torch.empty_like(x)
        y[order] = x * scale.unsqueeze(-1)
        return y


def get_inputs():
    order = torch.randperm(2048)
    return [torch.randn(2048, 64), order, order.argsort(), torch.rand(2048)]


def get_init_inputs():
    return []
