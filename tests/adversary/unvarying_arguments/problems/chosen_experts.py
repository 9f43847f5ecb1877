import torch


class Model(torch.nn.Module):
    def forward(self, x, chosen):
        return torch.einsum("bec,be->bc", x, chosen)


def get_inputs():
    return [torch.randn(1024, 8, 64), torch.nn.functional.one_hot(torch.arange(1024) % 8, 8).float()]


def get_init_inputs():
    return []
