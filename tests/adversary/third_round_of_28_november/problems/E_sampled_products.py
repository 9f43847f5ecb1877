import torch


class Model(torch.nn.Module):
    """Products of two matrices where a sparse one has entries, times these."""

    def forward(self, a, b, starts, columns, values):
        rows = torch.repeat_interleave(torch.arange(starts.shape[0] - 1), starts.diff())
        return values * (a[rows] * b[columns]).sum(dim=-1)


def get_inputs():
    linked = torch.rand(512, 384) < 0.03
    starts = torch.cat((torch.zeros(1, dtype=torch.int64), linked.sum(dim=1).cumsum(0)))
    columns = linked.nonzero()[:, 1].contiguous()
    return [torch.randn(512, 64), torch.randn(384, 64), starts, columns, torch.randn(columns.shape[0])]


def get_init_inputs():
    return []
