import torch


class Model(torch.nn.Module):
    """Adds the layer's output to the residual in place, and gives the norm of the sum."""

    def __init__(self, d):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(d) + 0.5)

    def forward(self, x, residual, eps=1e-5):
        residual.add_(x)
        wide = residual.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
        return (wide * self.weight).to(x.dtype)


def get_inputs():
    return [torch.randn(512, 384).bfloat16(), torch.randn(512, 384).bfloat16()]


def get_init_inputs():
    return [384]
