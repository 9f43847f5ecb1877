import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sin(x) + x


def get_inputs():
    return [torch.randn(1024, 256) * torch.logspace(-6, 0, 256)]
