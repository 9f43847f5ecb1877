import torch


class Model(torch.nn.Module):
    """Layer norm by the mean and the mean of squares."""

    def __init__(self, d):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(d) + 0.5)

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        variance = x.square().mean(dim=-1, keepdim=True) - mean.square()
        return (x - mean) * torch.rsqrt(variance + 1e-5) * self.weight


def get_inputs():
    return [torch.randn(1024, 160)]


def get_init_inputs():
    return [160]


BACKWARD = True
