import torch


class Model(torch.nn.Module):
    """In how many signs each query's code differs from each stored one: codes are 384 signs of an embedding."""

    def forward(self, queries, stored):
        return (queries[:, None] != stored[None]).sum(dim=2)


def get_inputs():
    return [torch.rand(16, 384) < 0.5, torch.rand(512, 384) < 0.5]


def get_init_inputs():
    return []
