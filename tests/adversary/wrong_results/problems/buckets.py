import torch


class Model(torch.nn.Module):
    def forward(self, x, borders):
        return torch.bucketize(x, borders)


def get_inputs():
    return [torch.randn(512, 1024), torch.randn(256).sort().values]


def get_init_inputs():
    return []
