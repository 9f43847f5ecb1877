import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sin(x) * x


def get_inputs():
    return [torch.randn(256, 1024) * torch.logspace(-4, 0, 256)[:, None]]
