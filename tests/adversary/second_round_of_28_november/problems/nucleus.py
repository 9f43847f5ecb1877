import torch


class Model(torch.nn.Module):
    """Hides all words but the likeliest ones, whose shares come to `share` together."""

    def forward(self, logits, share):
        values, order = logits.sort(dim=-1, descending=True, stable=True)
        shares = values.softmax(dim=-1)
        late = shares.cumsum(dim=-1) - shares > share
        return logits.masked_fill(torch.zeros_like(late).scatter(-1, order, late), float("-inf"))


def get_inputs():
    return [torch.randn(64, 2048) * 2, 0.9]


def get_init_inputs():
    return []
