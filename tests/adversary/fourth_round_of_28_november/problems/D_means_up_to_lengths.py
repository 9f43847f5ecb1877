import torch


class Model(torch.nn.Module):
    """Mean of each row's steps up to its length; most rows are short."""

    def forward(self, x, lengths):
        inside = torch.arange(x.shape[1]) < lengths.unsqueeze(1)
        kept = x.masked_fill(~inside.unsqueeze(2), 0.0)
        return kept.sum(dim=1) / lengths.clamp(min=1).unsqueeze(1)


def get_inputs():
    return [torch.randn(64, 512, 64), torch.randint(1, 17, (64,))]


def get_init_inputs():
    return []
