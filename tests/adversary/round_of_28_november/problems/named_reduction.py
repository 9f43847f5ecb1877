import torch


class Model(torch.nn.Module):
    def forward(self, x, y, reduction):
        return torch.nn.functional.mse_loss(x, y, reduction=reduction)


def get_inputs():
    return [torch.randn(512, 1024), torch.randn(512, 1024), "mean"]


def get_init_inputs():
    return []
