from collections import namedtuple

import torch

Best = namedtuple("Best", ["values", "indices"])


class Model(torch.nn.Module):
    def forward(self, x, k):
        found = torch.topk(x, k, dim=1)
        return Best(found.values, found.indices)


def get_inputs():
    return [torch.randn(128, 2048), 16]
