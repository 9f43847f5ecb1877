import torch


class Model(torch.nn.Module):
    def forward(self, scores):
        n = scores.shape[-1]
        mask = torch.ones(n, n, dtype=torch.bool).tril()
        return scores * 0.125, mask


def get_inputs():
    return [torch.randn(8, 128, 128)]


def get_init_inputs():
    return []
