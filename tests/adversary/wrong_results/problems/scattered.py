import torch


class Model(torch.nn.Module):
    def forward(self, x, scale):
        return torch.sin(x) * scale


def get_inputs():
    return [torch.randn(512, 1024), torch.where(torch.rand(512, 1024) < 0.5, 8e-6, 1.0) * torch.rand(512, 1024)]
