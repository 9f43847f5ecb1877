import torch


class Model(torch.nn.Module):
    """Each token goes to its two best experts, by the router's scores."""

    def __init__(self):
        super().__init__()
        self.experts = torch.nn.Parameter(torch.randn(16, 64, 64) / 8)

    def forward(self, x, scores):
        weights, chosen = torch.topk(torch.softmax(scores, dim=-1), 2, dim=-1)
        y = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            tokens, place = torch.where(chosen == number)
            y.index_add_(0, tokens, weights[tokens, place].unsqueeze(-1) * torch.relu(x[tokens] @ expert))
        return y


def get_inputs():
    return [torch.randn(512, 64), torch.randn(512, 16)]


def get_init_inputs():
    return []
