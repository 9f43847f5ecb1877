import torch


class Model(torch.nn.Module):
    def forward(self, x, count: int):
        return x[:, :count] * 2.0


def get_inputs():
    return [torch.randn(256, 32768), 64]
