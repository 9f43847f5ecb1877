import torch


class Model(torch.nn.Module):
    def forward(self, x, table, kind):
        return x + table[kind]


def get_inputs():
    return [torch.randn(8192, 64), torch.randn(256, 64), torch.randint(0, 8, (8192,))]


def get_init_inputs():
    return []
