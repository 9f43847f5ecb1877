import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(384, 512), torch.randn(512, 448)]


def get_init_inputs():
    return []
