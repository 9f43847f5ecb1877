import torch


class Model(torch.nn.Module):
    def forward(self, table, index):
        return torch.index_select(table, 0, index) * 2.0


def get_inputs():
    return [torch.randn(200_000, 64), torch.randint(0, 200_000, (256,))]
