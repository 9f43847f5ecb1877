import torch


class Model(torch.nn.Module):
    """Eight-bit numbers and a scale for each row."""

    def forward(self, x):
        scale = x.abs().amax(dim=-1, keepdim=True).clamp(min=1e-8) / 127.0
        return torch.round(x / scale).clamp(-127, 127).to(torch.int8), scale


def get_inputs():
    return [torch.randn(512, 1024)]


def get_init_inputs():
    return []
