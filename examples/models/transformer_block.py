"""Two pre-norm transformer blocks with causal attention: small enough to be profiled and sped up on two cores."""

import torch
import torch.nn.functional as F

BATCH, LENGTH, WIDTH, HEADS, BLOCKS = 8, 128, 128, 4, 2


class Block(torch.nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.heads = heads
        self.attention_norm = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.mlp_norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)
        self.register_buffer("mask", torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1))

    def attention(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5
        weights = scores.masked_fill(self.mask, float("-inf")).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.down(F.gelu(self.up(self.mlp_norm(x))))


class Model(torch.nn.Module):
    def __init__(self, width, heads, length, blocks):
        super().__init__()
        self.blocks = torch.nn.Sequential(*(Block(width, heads, length) for _ in range(blocks)))
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(self.blocks(x))


def get_inputs():
    return [torch.randn(BATCH, LENGTH, WIDTH)]


def get_init_inputs():
    return [WIDTH, HEADS, LENGTH, BLOCKS]
