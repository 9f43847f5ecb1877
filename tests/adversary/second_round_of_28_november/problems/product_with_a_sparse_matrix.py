import torch


class Model(torch.nn.Module):
    def forward(self, starts, columns, values, x):
        row = torch.repeat_interleave(torch.arange(starts.numel() - 1), starts.diff())
        return x.new_zeros(starts.numel() - 1).index_add(0, row, values * x[columns])


def get_inputs():
    counts = torch.randint(0, 33, (2048,))
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
    columns = torch.cat([torch.randperm(2048)[:count].sort().values for count in counts.tolist()])
    return [starts, columns, torch.randn(columns.numel()), torch.randn(2048)]


def get_init_inputs():
    return []
