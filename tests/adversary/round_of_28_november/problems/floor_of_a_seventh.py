import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.div(x, 7, rounding_mode="floor")


def get_inputs():
    return [torch.randint(0, 100000, (512, 1024))]


def get_init_inputs():
    return []
