import torch


class Model(torch.nn.Module):
    def forward(self, x, cache):
        cache.mul_(0.5).add_(x)
        return torch.relu(cache)


def get_inputs():
    return [torch.randn(256, 512), torch.randn(256, 512)]
