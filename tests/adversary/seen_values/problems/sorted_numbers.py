import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return x + y.sort(dim=-1).values


def get_inputs():
    return [torch.randn(512, 1024), torch.randint(-(2**20), 2**20, (512, 1024), dtype=torch.int32)]
