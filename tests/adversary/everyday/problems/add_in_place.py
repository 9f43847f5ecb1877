import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        x.add_(y)
        return x


def get_inputs():
    return [torch.randn(256, 512), torch.randn(256, 512)]
