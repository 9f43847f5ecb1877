import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.mean(dim=-1)


def get_inputs():
    return [torch.rand(32, 16384).to(torch.bfloat16)]


def get_init_inputs():
    return []
