import torch


class Model(torch.nn.Module):
    def forward(self, mask):
        return mask.sum()


def get_inputs():
    return [torch.rand(512, 512) < 0.5]


def get_init_inputs():
    return []
