import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.expm1(x).t()


def get_inputs():
    return [torch.randn(512, 640)]
