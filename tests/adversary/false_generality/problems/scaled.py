import torch


class Model(torch.nn.Module):
    def forward(self, x, scale):
        return torch.tanh(x) * scale


def get_inputs():
    return [torch.randn(512, 768), torch.tensor(0.5)]
