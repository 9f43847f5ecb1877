import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.copysign(torch.zeros_like(x), torch.sin(x))


def get_inputs():
    return [torch.randn(512, 1024)]
