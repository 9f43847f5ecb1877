import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.nothing = -1

    def forward(self, x, labels):
        return x * (labels != self.nothing)[:, None]


def get_inputs():
    return [torch.randn(1024, 1024), torch.randint(0, 1000, (1024,))]


def get_init_inputs():
    return []
