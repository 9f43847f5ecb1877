import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        inverse = 1.0 / (10_000 ** (torch.arange(0, width, 2).float() / width))
        self.register_buffer("inverse", inverse, persistent=False)
        self.register_buffer("scale", torch.rand(width) + 0.5)

    def forward(self, x):
        positions = torch.arange(x.shape[1], dtype=torch.float32)
        angle = torch.outer(positions, self.inverse)
        left, right = x.chunk(2, dim=-1)
        turned = (left * angle.cos() - right * angle.sin(), right * angle.cos() + left * angle.sin())
        return torch.cat(turned, dim=-1) * self.scale


def get_inputs():
    return [torch.randn(16, 128, 64)]


def get_init_inputs():
    return [64]
