import torch


class Model(torch.nn.Module):
    """A filter whose imaginary part is a thousandth of the real one."""

    def forward(self, x, y):
        return torch.complex(x * y, (x - y) * 1e-3)


def get_inputs():
    return [torch.randn(256, 1024), torch.randn(256, 1024)]
