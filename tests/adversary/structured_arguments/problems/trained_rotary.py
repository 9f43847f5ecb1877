import torch


class Model(torch.nn.Module):
    """Turns queries by the angle of their positions, in training."""

    def forward(self, x, positions):
        rate = 10000.0 ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
        angle = positions[..., None].float() * rate
        even, odd = x[..., ::2], x[..., 1::2]
        turned = (even * angle.cos() - odd * angle.sin(), even * angle.sin() + odd * angle.cos())
        return torch.stack(turned, dim=-1).flatten(-2)


BACKWARD = True


def get_inputs():
    return [torch.randn(16, 128, 32, requires_grad=True), torch.arange(128)]


def get_init_inputs():
    return []
