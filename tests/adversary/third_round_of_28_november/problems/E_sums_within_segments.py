import torch


class Model(torch.nn.Module):
    """Running sums of rows that begin again where the segment's number changes; numbers are in order."""

    def forward(self, x, segments):
        before = torch.cat((torch.zeros(1, x.shape[1]), x.cumsum(dim=0)))
        begin = torch.searchsorted(segments, segments)
        return before[1:] - before[begin]


def get_inputs():
    return [torch.randn(2048, 32), torch.randint(0, 40, (2048,)).sort().values]


def get_init_inputs():
    return []
