import torch


class Model(torch.nn.Module):
    def __init__(self, is_log):
        super().__init__()
        self.is_log = is_log

    def forward(self, x):
        if self.is_log:
            return torch.log_softmax(x, dim=-1)
        return torch.softmax(x, dim=-1)


def get_inputs():
    return [torch.randn(512, 512)]


def get_init_inputs():
    return [False]


def _logarithm():
    return [True]


INIT_SETS = [_logarithm]
