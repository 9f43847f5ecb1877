import torch


class Model(torch.nn.Module):
    def forward(self, x, mask=None):
        return torch.relu(x), None, [x.sum(dim=-1)], x.shape[0]


def get_inputs():
    return [torch.randn(256, 512), None]
