"""Two mixer layers: tokens are mixed by one two-layer network, channels by another."""

import torch

BATCH, TOKENS, CHANNELS, HIDDEN, LAYERS = 16, 64, 192, 384, 2


class Mixer(torch.nn.Module):
    def __init__(self, tokens, channels, hidden):
        super().__init__()
        self.token_norm = torch.nn.LayerNorm(channels)
        self.token_up = torch.nn.Linear(tokens, hidden)
        self.token_down = torch.nn.Linear(hidden, tokens)
        self.channel_norm = torch.nn.LayerNorm(channels)
        self.channel_up = torch.nn.Linear(channels, hidden)
        self.channel_down = torch.nn.Linear(hidden, channels)
        self.scale = torch.nn.Parameter(torch.full((channels,), 0.5))

    def forward(self, x):
        mixed = self.token_down(torch.nn.functional.gelu(self.token_up(self.token_norm(x).transpose(1, 2))))
        x = x + mixed.transpose(1, 2) * self.scale
        return x + self.channel_down(torch.nn.functional.gelu(self.channel_up(self.channel_norm(x))))


class Model(torch.nn.Module):
    def __init__(self, tokens, channels, hidden, layers):
        super().__init__()
        self.layers = torch.nn.ModuleList(Mixer(tokens, channels, hidden) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(channels)
        self.head = torch.nn.Linear(channels, 10)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(dim=1))


def get_inputs():
    return [torch.randn(BATCH, TOKENS, CHANNELS)]


def get_init_inputs():
    return [TOKENS, CHANNELS, HIDDEN, LAYERS]
