import torch


class Model(torch.nn.Module):
    def __init__(self, power):
        super().__init__()
        self.power = power

    def forward(self, x):
        length = torch.linalg.vector_norm(x, self.power, dim=-1, keepdim=True)
        return x / length.clamp(min=1e-30)


def get_inputs():
    return [torch.randn(512, 256)]


def get_init_inputs():
    return [2.0]


def _sums():
    return [1.0]


INIT_SETS = [_sums]
