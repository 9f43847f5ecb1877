import torch


class Model(torch.nn.Module):
    def forward(self, x, kept):
        return torch.nn.functional.silu(x * kept)


def get_inputs():
    return [torch.randn(512, 1024), torch.ones(512, 1024, dtype=torch.int64)]


def get_init_inputs():
    return []
