import torch


class Model(torch.nn.Module):
    """Log-likelihood of sequences of symbols under a hidden Markov model, in the domain of logarithms."""

    def forward(self, symbols, start, moves, emits):
        start, moves, emits = start.log(), moves.log(), emits.log()
        alpha = start + emits[:, symbols[:, 0]].T
        for t in range(1, symbols.shape[1]):
            alpha = torch.logsumexp(alpha.unsqueeze(2) + moves, dim=1) + emits[:, symbols[:, t]].T
        return torch.logsumexp(alpha, dim=1)


def get_inputs():
    return [
        torch.randint(0, 32, (64, 24)),
        torch.rand(12).softmax(dim=0),
        torch.randn(12, 12).softmax(dim=-1),
        torch.randn(12, 32).softmax(dim=-1),
    ]


def get_init_inputs():
    return []
