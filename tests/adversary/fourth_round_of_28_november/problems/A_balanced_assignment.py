import torch


class Model(torch.nn.Module):
    """Sinkhorn's assignment of tokens to slots: rows and columns are scaled in turns until both sum to one."""

    def forward(self, scores):
        p = torch.exp(scores.clamp(-4, 4))
        for _ in range(30):
            p = p / p.sum(dim=-1, keepdim=True)
            p = p / p.sum(dim=-2, keepdim=True)
        return p


def get_inputs():
    return [torch.randn(16, 64, 48)]


def get_init_inputs():
    return []
