import torch


class Model(torch.nn.Module):
    """Attention to the last `window` steps, the own one included; a window has one step or more."""

    def forward(self, q, k, v, window, scale=None):
        steps = q.shape[-2]
        apart = torch.arange(steps)[:, None] - torch.arange(steps)[None, :]
        scores = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
        return scores.masked_fill((apart < 0) | (apart >= window), float("-inf")).softmax(dim=-1) @ v


def get_inputs():
    return [*(torch.randn(8, 128, 32) for _ in range(3)), 16]


def get_init_inputs():
    return []
