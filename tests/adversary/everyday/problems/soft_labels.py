import torch


class Model(torch.nn.Module):
    def forward(self, x, t):
        return -(t * torch.log_softmax(x, dim=-1)).sum(dim=-1)


def get_inputs():
    return [torch.randn(512, 1000), torch.softmax(torch.randn(512, 1000), dim=-1)]


def get_init_inputs():
    return []
