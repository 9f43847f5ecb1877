import torch


class Model(torch.nn.Module):
    def forward(self, starts, neighbours, features):
        row = torch.repeat_interleave(torch.arange(starts.numel() - 1), starts.diff())
        out = features.new_zeros(starts.numel() - 1, features.shape[1])
        return out.index_add(0, row, features[neighbours])


def get_inputs():
    counts = torch.randint(0, 9, (1024,))
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
    return [starts, torch.randint(0, 1024, (int(starts[-1]),)), torch.randn(1024, 64)]


def get_init_inputs():
    return []
