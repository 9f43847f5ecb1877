import torch


class Model(torch.nn.Module):
    def __init__(self, *, features, slope=0.1, name="leaky"):
        super().__init__()
        self.slope, self.name = slope, name
        self.weight = torch.nn.Parameter(torch.rand(features))

    def forward(self, x):
        return torch.where(x > 0, x, x * self.slope) * self.weight


def get_inputs():
    return [torch.randn(256, 1024)]


def get_init_inputs():
    return {"features": 1024, "slope": 0.2}
