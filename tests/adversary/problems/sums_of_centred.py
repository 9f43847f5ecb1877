import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum(dim=-1)


def get_inputs():
    x = torch.randn(2, 262144)
    return [x - x.mean(dim=-1, keepdim=True) * (1 - 0.01 * torch.rand(2, 1))]


def get_init_inputs():
    return []
