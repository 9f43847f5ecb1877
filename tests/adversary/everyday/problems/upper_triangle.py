import torch


class Model(torch.nn.Module):
    def forward(self, a):
        return (a * a).sum(dim=-1)


def get_inputs():
    return [torch.triu(torch.rand(512, 512) + 0.1)]
