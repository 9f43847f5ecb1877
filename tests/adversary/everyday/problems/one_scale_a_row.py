import torch


class Model(torch.nn.Module):
    def forward(self, x, scale):
        return torch.tanh(x) * scale


def get_inputs():
    return [torch.randn(512, 512), torch.rand(512, 1).expand(512, 512)]
