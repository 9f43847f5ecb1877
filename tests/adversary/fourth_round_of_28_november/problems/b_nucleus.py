import torch


class Model(torch.nn.Module):
    """Keeps the most probable tokens that make up 90% together, and gives their probabilities."""

    def forward(self, logits):
        p, order = logits.softmax(dim=1).sort(dim=1, descending=True)
        before = p.cumsum(dim=1) - p
        p = torch.where(before < 0.9, p, torch.zeros_like(p))
        p = p / p.sum(dim=1, keepdim=True)
        return torch.zeros_like(p).scatter(1, order, p)


def get_inputs():
    return [3.0 * torch.randn(32, 4096)]


def get_init_inputs():
    return []
