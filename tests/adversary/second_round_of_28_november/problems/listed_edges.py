import torch


class Model(torch.nn.Module):
    def forward(self, edges, listed):
        return (edges.unsqueeze(-1) == listed).any(dim=-1)


def get_inputs():
    return [torch.randint(0, 100000, (16384,)), torch.randint(0, 100000, (48,))]


def get_init_inputs():
    return []
