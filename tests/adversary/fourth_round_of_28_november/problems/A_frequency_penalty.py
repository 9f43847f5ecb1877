import torch


class Model(torch.nn.Module):
    """Logits of tokens that were written before are lowered, by each time."""

    def forward(self, logits, history):
        counts = torch.zeros_like(logits).scatter_add(1, history, torch.ones(history.shape))
        return logits - 0.3 * counts


def get_inputs():
    return [torch.randn(64, 4000), torch.randint(0, 4000, (64, 100))]


def get_init_inputs():
    return []
