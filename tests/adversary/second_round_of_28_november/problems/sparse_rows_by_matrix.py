import torch


class Model(torch.nn.Module):
    """A sparse matrix, of which `starts` says where rows begin, by a dense one. `starts` begins at zero, rises, and ends
    at the number of values."""

    def forward(self, starts, columns, values, x):
        rows = torch.repeat_interleave(torch.arange(starts.numel() - 1), starts.diff())
        return x.new_zeros(starts.numel() - 1, x.shape[1]).index_add_(0, rows, values[:, None] * x[columns])


def get_inputs():
    starts = torch.cat((torch.zeros(1, dtype=torch.long), torch.randint(0, 8193, (511,)).sort().values, torch.tensor([8192])))
    return [starts, torch.randint(0, 512, (8192,)), torch.randn(8192), torch.randn(512, 32)]


def get_init_inputs():
    return []
