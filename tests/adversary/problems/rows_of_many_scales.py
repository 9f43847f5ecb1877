import torch


class Model(torch.nn.Module):
    def forward(self, x, scale):
        return torch.tanh(x) * torch.pow(10.0, -scale)


def get_inputs():
    return [torch.randn(1024, 512), torch.arange(1024).remainder(9).float()[:, None] + torch.rand(1024, 1)]


def get_init_inputs():
    return []
