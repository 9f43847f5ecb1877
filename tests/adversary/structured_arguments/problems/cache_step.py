import torch


class Model(torch.nn.Module):
    """One step of decoding: writes the new key and value behind each sequence's end, in place, and attends to all.
    `lengths` are below the size of the cache."""

    def forward(self, q, k, v, keys, values, lengths):
        batch = torch.arange(q.shape[0])
        keys[batch, :, lengths] = k
        values[batch, :, lengths] = v
        scores = torch.einsum("bhd,bhtd->bht", q, keys) / q.shape[-1] ** 0.5
        hidden = torch.arange(keys.shape[2]) > lengths[:, None]
        shares = scores.masked_fill(hidden[:, None], float("-inf")).softmax(dim=-1)
        return torch.einsum("bht,bhtd->bhd", shares, values)


def get_inputs():
    new = [torch.randn(16, 4, 32) for _ in range(3)]
    return [*new, torch.randn(16, 4, 128, 32), torch.randn(16, 4, 128, 32), torch.randint(0, 128, (16,))]


def get_init_inputs():
    return []
