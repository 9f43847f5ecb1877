import torch


class Model(torch.nn.Module):
    """Attention in which a mask of blocks says which keys a block of 16 queries reads, besides the causal mask."""

    def forward(self, q, k, v, blocks):
        size = q.shape[2] // blocks.shape[0]
        allowed = blocks.repeat_interleave(size, 0).repeat_interleave(size, 1)
        allowed = allowed & torch.ones_like(allowed).tril()
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed)


def get_inputs():
    blocks = (torch.rand(8, 8) < 0.4) | torch.eye(8, dtype=torch.bool)
    return [*[torch.randn(2, 4, 128, 32) for _ in range(3)], blocks]


def get_init_inputs():
    return []
