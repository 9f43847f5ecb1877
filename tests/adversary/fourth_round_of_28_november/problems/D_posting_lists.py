import torch


class Model(torch.nn.Module):
    """Posting lists from their signed gaps, as zigzag codes; list `i` is from `offsets[i]` to `offsets[i + 1]`."""

    def forward(self, codes, offsets):
        gaps = (codes >> 1) ^ -(codes & 1)
        run = gaps.cumsum(0)
        before = torch.cat((run.new_zeros(1), run))[offsets[:-1]]
        return run - torch.repeat_interleave(before, offsets.diff())


def get_inputs():
    offsets = torch.cat((torch.zeros(1, dtype=torch.int64), torch.randint(0, 100001, (499,)).sort().values, torch.tensor([100000])))
    return [torch.randint(0, 400, (100000,)), offsets]


def get_init_inputs():
    return []
