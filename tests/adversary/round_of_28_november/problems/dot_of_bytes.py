import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return (a.int() * b.int()).sum(dim=-1)


def get_inputs():
    return [torch.randint(-8, 8, (2048, 256), dtype=torch.int8), torch.randint(-8, 8, (2048, 256), dtype=torch.int8)]


def get_init_inputs():
    return []
