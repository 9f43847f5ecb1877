import torch


class Model(torch.nn.Module):
    """How far values lie from their row's median, by the median of these distances."""

    def forward(self, x):
        apart = x - x.median(dim=-1, keepdim=True).values
        return apart / (apart.abs().median(dim=-1, keepdim=True).values + 1e-3)


def get_inputs():
    return [torch.randn(512, 512)]


def get_init_inputs():
    return []
