import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.cumsum(x, dim=-1)


def get_inputs():
    return [torch.rand(64, 16_384)]
