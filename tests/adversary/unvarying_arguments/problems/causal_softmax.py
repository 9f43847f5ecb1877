import torch


class Model(torch.nn.Module):
    def forward(self, scores, mask):
        return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)


def get_inputs():
    return [torch.randn(16, 128, 128), torch.ones(128, 128, dtype=torch.bool).tril()]


def get_init_inputs():
    return []
