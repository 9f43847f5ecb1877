import torch


class Model(torch.nn.Module):
    """Attention within sequences that lie one behind the other. `cu_seqlens` begins at zero, rises, and ends at the
    number of rows; `longest` is the length of the longest sequence."""

    def forward(self, q, k, v, cu_seqlens, longest, causal=True):
        total, heads, size = q.shape
        count = cu_seqlens.numel() - 1
        row = torch.repeat_interleave(torch.arange(count), cu_seqlens.diff().long())
        allowed = row[:, None] == row[None, :]
        if causal:
            allowed = allowed & torch.ones(total, total, dtype=torch.bool).tril()
        scores = torch.einsum("qhd,khd->hqk", q, k) / size**0.5
        return torch.einsum("hqk,khd->qhd", scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1), v)


def get_inputs():
    ends = torch.randperm(383)[:7].sort().values + 1
    cu = torch.cat((torch.zeros(1, dtype=torch.long), ends, torch.tensor([384]))).int()
    return [*(torch.randn(384, 4, 32) for _ in range(3)), cu, int(cu.diff().max())]


def get_init_inputs():
    return []
