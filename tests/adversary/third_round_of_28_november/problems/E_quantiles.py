import torch


class Model(torch.nn.Module):
    """A quantile of each row, between two of its numbers."""

    def forward(self, x, share=0.9):
        return torch.quantile(x, share, dim=-1)


def get_inputs():
    return [torch.randn(512, 1000)]


def get_init_inputs():
    return []
