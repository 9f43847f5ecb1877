import torch


class Model(torch.nn.Module):
    """Rows in order and where each number was; equal ones stay as they were."""

    def forward(self, x):
        return torch.sort(x, dim=-1, stable=True)


def get_inputs():
    return [torch.randn(64, 3000)]


def get_init_inputs():
    return []
