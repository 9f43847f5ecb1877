import torch


class Model(torch.nn.Module):
    """Attention to the `window` latest steps, the own one among them."""

    def forward(self, q, k, v, window=24):
        steps = torch.arange(q.shape[-2])
        apart = steps.unsqueeze(1) - steps
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        scores = scores.masked_fill((apart < 0) | (apart >= window), float("-inf"))
        return torch.softmax(scores, dim=-1) @ v


def get_inputs():
    return [torch.randn(6, 128, 32), torch.randn(6, 128, 32), torch.randn(6, 128, 32)]


def get_init_inputs():
    return []


BACKWARD = True
