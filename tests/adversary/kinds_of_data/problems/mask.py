import torch


class Model(torch.nn.Module):
    def forward(self, x, keep):
        return (x > 0.5) & keep, x.isnan()


def get_inputs():
    return [torch.randn(512, 1024), torch.rand(512, 1024) > 0.3]
