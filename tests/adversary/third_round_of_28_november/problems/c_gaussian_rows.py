import torch


class Model(torch.nn.Module):
    """Rows smoothed by a Gaussian of seventeen places."""

    def forward(self, x, sigma):
        places = torch.arange(-8, 9)
        weights = torch.exp(-0.5 * (places / sigma) ** 2)
        weights = weights / weights.sum()
        return torch.nn.functional.conv1d(x[:, None], weights[None, None], padding=8)[:, 0]


def get_inputs():
    return [torch.randn(128, 512), 1.5]


def get_init_inputs():
    return []
