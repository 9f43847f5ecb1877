import torch


class Model(torch.nn.Module):
    def __init__(self, channels, features):
        super().__init__()
        self.conv = torch.nn.Conv2d(channels, features, 3, padding=1, bias=False)

    def forward(self, x):
        return torch.relu(self.conv(x))


def get_inputs():
    return [torch.randn(2, 32, 32, 32)]


def get_init_inputs():
    return [32, 32]
