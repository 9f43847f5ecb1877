import torch


class Model(torch.nn.Module):
    def forward(self, x, mask):
        return x.masked_fill(~mask, 0.0).sum(dim=-1)


def get_inputs():
    return [torch.randn(8, 512, 512), torch.ones(512, 512, dtype=torch.bool).tril()]


def get_init_inputs():
    return []
