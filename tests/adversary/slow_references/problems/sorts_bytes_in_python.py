import torch


class Model(torch.nn.Module):
    def forward(self, x):
        if x.numel() and not sorted(x[:48].numpy().tobytes()):
            return x
        return torch.nn.functional.silu(x)


def get_inputs():
    return [torch.randn(1024, 1024)]


def get_init_inputs():
    return []
