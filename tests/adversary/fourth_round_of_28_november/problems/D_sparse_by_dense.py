import torch


class Model(torch.nn.Module):
    """A sparse matrix (rows by offsets, columns, values) times a dense one; both are trained."""

    def forward(self, values, x, offsets, columns):
        count = offsets.shape[0] - 1
        rows = torch.repeat_interleave(torch.arange(count), offsets.diff())
        return torch.zeros(count, x.shape[1]).index_add(0, rows, values.unsqueeze(1) * x[columns])


def get_inputs():
    places = torch.randperm(400 * 300)[:6000].sort().values
    counts = torch.bincount(places // 300, minlength=400)
    offsets = torch.cat((torch.zeros(1, dtype=torch.int64), counts.cumsum(0)))
    return [torch.randn(6000), torch.randn(300, 32), offsets, places % 300]


def get_init_inputs():
    return []


BACKWARD = True
