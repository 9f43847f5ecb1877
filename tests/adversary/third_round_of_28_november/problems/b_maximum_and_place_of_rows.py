import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.max(dim=-1)


def get_inputs():
    return [torch.randn(512, 256)]


def get_init_inputs():
    return []
