import torch


class Model(torch.nn.Module):
    def forward(self, logits, least):
        return torch.where(logits >= least, logits, -1e9)


def get_inputs():
    return [torch.randn(256, 512) * 3, torch.rand(256, 1) + 0.5]


def get_init_inputs():
    return []
