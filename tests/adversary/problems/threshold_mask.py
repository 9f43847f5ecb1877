import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sigmoid(x) * 3.0 - 1.0 > 0.37, torch.floor(torch.exp(x * 0.25) * 1000.0).to(torch.int32)


def get_inputs():
    return [torch.randn(1024, 1024)]
