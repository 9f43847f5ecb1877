import torch


class Model(torch.nn.Module):
    """Rotary embedding of neighbouring pairs at given positions."""

    def forward(self, x, positions, base=10000.0):
        half = x.shape[-1] // 2
        rates = base ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = positions.unsqueeze(-1).double() * rates
        cos, sin = angles.cos().float().unsqueeze(1), angles.sin().float().unsqueeze(1)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


def get_inputs():
    return [torch.randn(384, 8, 64), torch.randint(0, 2048, (384,))]


def get_init_inputs():
    return []
