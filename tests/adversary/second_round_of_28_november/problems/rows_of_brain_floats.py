import torch


class Model(torch.nn.Module):
    """Adds the residual and norms by the root of the mean square, in brain floats; gives the sum too."""

    def __init__(self, features):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(features, dtype=torch.bfloat16))

    def forward(self, x, residual):
        both = x + residual
        wide = both.float()
        wide = wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(torch.bfloat16), both


def get_inputs():
    return [torch.randn(256, 512).to(torch.bfloat16), torch.randn(256, 512).to(torch.bfloat16)]


def get_init_inputs():
    return [512]
