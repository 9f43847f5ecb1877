"""Accelerations of bodies that attract each other."""

import torch


class Model(torch.nn.Module):
    def forward(self, place, mass):
        apart = place[None, :, :] - place[:, None, :]
        square = (apart * apart).sum(dim=-1) + 0.01
        pull = mass[None, :] * torch.rsqrt(square) / square
        return (apart * pull[:, :, None]).sum(dim=1)


def get_inputs():
    return [torch.randn(1024, 3), torch.rand(1024) + 0.5]


def get_init_inputs():
    return []
