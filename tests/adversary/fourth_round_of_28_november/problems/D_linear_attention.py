import torch


class Model(torch.nn.Module):
    """Causal attention whose weights are products of positive features."""

    def forward(self, q, k, v):
        q, k = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
        weights = (q @ k.transpose(-1, -2)).tril()
        return weights @ v / (weights.sum(-1, keepdim=True) + 1e-6)


def get_inputs():
    return [torch.randn(2, 4, 256, 32), torch.randn(2, 4, 256, 32), torch.randn(2, 4, 256, 40)]


def get_init_inputs():
    return []
