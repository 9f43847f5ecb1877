import torch


class Model(torch.nn.Module):
    def forward(self, x, angle):
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * torch.cos(angle) - b * torch.sin(angle), a * torch.sin(angle) + b * torch.cos(angle)), dim=-1)


def get_inputs():
    return [torch.randn(512, 512), torch.randn(1)]


def get_init_inputs():
    return []
