import torch


class Model(torch.nn.Module):
    def forward(self, x):
        starts = torch.arange(0, x.shape[1] - 63, 4)
        return x[:, starts[:, None] + torch.arange(64)[None, :]]


def get_inputs():
    return [torch.randn(8, 2048)]


def get_init_inputs():
    return []
