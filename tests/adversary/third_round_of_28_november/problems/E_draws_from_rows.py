import torch


class Model(torch.nn.Module):
    """Draws one token for each row of probabilities, by a uniform number."""

    def forward(self, shares, chance):
        return torch.searchsorted(shares.cumsum(dim=-1), chance.unsqueeze(1)).clamp_max(shares.shape[1] - 1).squeeze(1)


def get_inputs():
    return [torch.randn(4096, 128).softmax(dim=-1), torch.rand(4096)]


def get_init_inputs():
    return []
