import torch


class Model(torch.nn.Module):
    """Bilinear interpolation between rows of a table that lie on a grid, by fractional places; edges repeat."""

    def forward(self, table, at):
        rows = table.shape[0]
        low = at.floor()
        share = (at - low)[:, None]
        one = low.long().clamp(0, rows - 1)
        other = (low.long() + 1).clamp(0, rows - 1)
        return table[one] * (1 - share) + table[other] * share


def get_inputs():
    return [torch.randn(512, 64), torch.rand(4096) * 511]


def get_init_inputs():
    return []
