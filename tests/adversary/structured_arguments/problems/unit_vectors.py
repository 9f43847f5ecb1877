import torch


class Model(torch.nn.Module):
    """Cosine similarity of embeddings; callers normalise all rows to length one first."""

    def forward(self, query, keys):
        query = query / query.norm(dim=-1, keepdim=True).clamp_min(1e-8)
        keys = keys / keys.norm(dim=-1, keepdim=True).clamp_min(1e-8)
        return query @ keys.t()


def get_inputs():
    normalised = torch.nn.functional.normalize
    return [normalised(torch.randn(256, 128), dim=-1), normalised(torch.randn(512, 128), dim=-1)]


def get_init_inputs():
    return []
