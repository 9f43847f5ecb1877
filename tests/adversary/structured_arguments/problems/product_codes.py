import torch


class Model(torch.nn.Module):
    """Distances by product quantisation: each row has a byte a part, which picks an entry of the part's table."""

    def forward(self, codes, tables):
        parts = torch.arange(tables.shape[0])
        return tables[parts, codes.long()].sum(dim=-1)


def get_inputs():
    return [torch.randint(0, 256, (8192, 16), dtype=torch.uint8), torch.rand(16, 256)]


def get_init_inputs():
    return []
