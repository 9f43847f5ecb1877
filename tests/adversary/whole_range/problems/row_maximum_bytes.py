import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.amax(dim=1)


def get_inputs():
    return [torch.randint(0, 100, (16384, 64), dtype=torch.uint8)]


def get_init_inputs():
    return []
