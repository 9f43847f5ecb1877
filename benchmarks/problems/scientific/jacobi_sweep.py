"""A Jacobi sweep of Poisson's equation with periodic borders, and how far it went."""

import torch


class Model(torch.nn.Module):
    def forward(self, u, source):
        around = u.roll(1, 0) + u.roll(-1, 0) + u.roll(1, 1) + u.roll(-1, 1)
        new = 0.25 * (around - source)
        return new, (new - u).abs().amax(dim=-1)


def get_inputs():
    return [torch.randn(1536, 1536), torch.randn(1536, 1536)]


def get_init_inputs():
    return []
