import torch


class Model(torch.nn.Module):
    def forward(self, times):
        return torch.argmax(times, dim=-1)


def get_inputs():
    return [torch.rand(512, 64, dtype=torch.float64) * 1000]


def get_init_inputs():
    return []
