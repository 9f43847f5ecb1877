import torch


class Model(torch.nn.Module):
    """One query a sequence attends to keys and values of bytes with a scale for each token, up to its length."""

    def forward(self, q, keys, key_scales, values, value_scales, lengths):
        k = keys.float() * key_scales.unsqueeze(-1)
        v = values.float() * value_scales.unsqueeze(-1)
        scores = torch.einsum("bhd,bthd->bht", q, k) * q.shape[-1] ** -0.5
        behind = torch.arange(keys.shape[1]) >= lengths.unsqueeze(1)
        shares = scores.masked_fill(behind.unsqueeze(1), float("-inf")).softmax(dim=-1)
        return torch.einsum("bht,bthd->bhd", shares, v)


def get_inputs():
    codes = [torch.randint(-127, 128, (8, 96, 4, 32), dtype=torch.int8) for _ in range(2)]
    scales = [torch.rand(8, 96, 4) * 0.02 + 0.001 for _ in range(2)]
    return [torch.randn(8, 4, 32), codes[0], scales[0], codes[1], scales[1], torch.randint(1, 97, (8,))]


def get_init_inputs():
    return []
