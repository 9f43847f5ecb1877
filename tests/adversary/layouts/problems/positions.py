import torch


class Model(torch.nn.Module):
    """Tokens turned by positions that all sequences share: expanded, not copied."""

    def forward(self, x, positions):
        angle = positions[..., None].float() * 0.01
        return x * angle.cos() + x.roll(1, -1) * angle.sin()


def get_inputs():
    return [torch.randn(8, 1024, 64), torch.arange(1024).expand(8, 1024)]


def get_init_inputs():
    return []
