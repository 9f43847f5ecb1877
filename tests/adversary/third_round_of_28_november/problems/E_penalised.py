import torch


class Model(torch.nn.Module):
    """Logits of tokens that were used already are divided by the penalty, or multiplied where they are negative."""

    def forward(self, logits, tokens, penalty=1.3):
        used = logits.gather(1, tokens)
        return logits.scatter(1, tokens, torch.where(used < 0, used * penalty, used / penalty))


def get_inputs():
    return [torch.randn(32, 4000), torch.randint(0, 4000, (32, 200))]


def get_init_inputs():
    return []
