import torch


class Model(torch.nn.Module):
    """Rows at another rate: the nearest earlier sample."""

    def forward(self, x, size):
        places = torch.arange(size) * x.shape[1] // size
        return x[:, places]


def get_inputs():
    return [torch.randn(256, 384), 160]


def get_init_inputs():
    return []
