import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.amax(dim=1)


def get_inputs():
    return [torch.randint(0, 1000, (512, 1024), dtype=torch.int32)]


def get_init_inputs():
    return []
