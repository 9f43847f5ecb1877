import torch


class Model(torch.nn.Module):
    def forward(self, x, edges):
        return torch.bucketize(x, edges)


def get_inputs():
    return [torch.randn(256, 512), torch.randn(65).sort().values]


def get_init_inputs():
    return []
