import torch


class Model(torch.nn.Module):
    def forward(self, starts, columns, values, x):
        row = torch.repeat_interleave(torch.arange(starts.numel() - 1), starts.diff())
        return x.new_zeros(starts.numel() - 1).index_add(0, row, values * x[columns])


def get_inputs():
    cuts = torch.randperm(8191)[:511].sort().values + 1
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), cuts, torch.tensor([8192])])
    return [starts, torch.randint(0, 1024, (8192,)), torch.randn(8192), torch.randn(1024)]


def get_init_inputs():
    return []
