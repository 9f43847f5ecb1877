import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.softplus(x)


def get_inputs():
    return [torch.randn(512, 640).narrow(1, 64, 512)]
