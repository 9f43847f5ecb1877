from typing import NamedTuple

import torch


class Interactions(NamedTuple):
    features: torch.Tensor
    lengths: torch.Tensor


class Model(torch.nn.Module):
    """Products of each pair of a row's embeddings, behind its dense features; and the embeddings' squared lengths."""

    def forward(self, batch):
        rows = torch.stack([batch["dense"], *batch["embedded"]], dim=1)
        products = torch.bmm(rows, rows.transpose(1, 2))
        i, j = torch.tril_indices(rows.shape[1], rows.shape[1], offset=-1)
        return Interactions(torch.cat((batch["dense"], products[:, i, j]), dim=1), products.diagonal(dim1=1, dim2=2))


def get_inputs():
    return [{"dense": torch.randn(512, 48), "embedded": [torch.randn(512, 48) for _ in range(6)]}]


def get_init_inputs():
    return []
