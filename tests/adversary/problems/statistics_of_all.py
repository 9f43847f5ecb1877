import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.stack([x.square().sum(), 1e-7 * x.mean()])


def get_inputs():
    return [torch.randn(512, 1024)]


def get_init_inputs():
    return []
