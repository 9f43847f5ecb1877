import torch


class Model(torch.nn.Module):
    def forward(self, x, stride, padding):
        return torch.nn.functional.avg_pool1d(x, 8, stride, padding)


def get_inputs():
    return [torch.randn(16, 32, 512), 1, 0]


def get_init_inputs():
    return []
