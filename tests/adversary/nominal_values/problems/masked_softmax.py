import torch


class Model(torch.nn.Module):
    def forward(self, x, mask):
        return torch.softmax(x.masked_fill(~mask, -1e4), dim=-1)


def get_inputs():
    return [torch.randn(256, 1024), torch.ones(256, 1024, dtype=torch.bool)]


def get_init_inputs():
    return []
