import torch


class Model(torch.nn.Module):
    """Which frames are the same as the one before."""

    def forward(self, frames):
        return (frames[1:] == frames[:-1]).all(dim=1)


def get_inputs():
    frames = torch.randn(400, 1024)
    return [frames[torch.randint(0, 400, (800,)).sort().values]]


def get_init_inputs():
    return []
