import torch


class Model(torch.nn.Module):
    """Free energy of each row's levels."""

    def forward(self, energies, temperature=0.7):
        return -temperature * torch.log(torch.exp(-energies / temperature).sum(dim=-1))


def get_inputs():
    return [torch.randn(2048, 200) * 2]


def get_init_inputs():
    return []
