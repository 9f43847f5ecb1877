import torch


class Model(torch.nn.Module):
    """Negative log likelihood of tags under a linear-chain random field, over the first `lengths` of each row."""

    def __init__(self, tags):
        super().__init__()
        self.start = torch.nn.Parameter(torch.randn(tags) * 0.3)
        self.end = torch.nn.Parameter(torch.randn(tags) * 0.3)
        self.moves = torch.nn.Parameter(torch.randn(tags, tags) * 0.3)

    def forward(self, scores, tags, lengths):
        steps = scores.shape[1]
        alpha = self.start + scores[:, 0]
        for t in range(1, steps):
            after = torch.logsumexp(alpha.unsqueeze(2) + self.moves, dim=1) + scores[:, t]
            alpha = torch.where((t < lengths).unsqueeze(1), after, alpha)
        total = torch.logsumexp(alpha + self.end, dim=1)
        inside = (torch.arange(steps) < lengths.unsqueeze(1)).to(scores.dtype)
        own = scores.gather(2, tags.unsqueeze(2)).squeeze(2) * inside
        moved = self.moves[tags[:, :-1], tags[:, 1:]] * inside[:, 1:]
        last = tags.gather(1, lengths.unsqueeze(1) - 1).squeeze(1)
        return total - (self.start[tags[:, 0]] + own.sum(1) + moved.sum(1) + self.end[last])


def get_inputs():
    return [torch.randn(48, 20, 9), torch.randint(0, 9, (48, 20)), torch.randint(1, 21, (48,))]


def get_init_inputs():
    return [9]


BACKWARD = True
