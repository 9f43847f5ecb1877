import torch


class Model(torch.nn.Module):
    """Probabilities of the tokens that a sampler may choose: the best ones, up to nine tenths of the whole."""

    def forward(self, logits):
        best, order = torch.softmax(logits, dim=-1).sort(dim=-1, descending=True)
        kept = best.masked_fill(best.cumsum(dim=-1) - best > 0.9, 0.0)
        return torch.zeros_like(logits).scatter(1, order, kept / kept.sum(dim=-1, keepdim=True))


def get_inputs():
    return [3 * torch.randn(64, 1000)]


def get_init_inputs():
    return []
