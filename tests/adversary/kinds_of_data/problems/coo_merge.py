import torch


class Model(torch.nn.Module):
    """A sparse matrix as sorted coordinates, summed by its rows: relies on nothing but valid rows."""

    def forward(self, rows, columns, values, x):
        return torch.zeros(2048).index_add_(0, rows, values * x[columns])


def get_inputs():
    flat = torch.randperm(2048 * 1024)[:32768].sort().values
    return [flat // 1024, flat % 1024, torch.randn(32768), torch.randn(1024)]
