import torch


class Model(torch.nn.Module):
    def forward(self, t, frequency, phase):
        return torch.sin(t * frequency + phase)


def get_inputs():
    return [torch.rand(4096, 1) * 1000, torch.rand(64), torch.rand(64)]


def get_init_inputs():
    return []
