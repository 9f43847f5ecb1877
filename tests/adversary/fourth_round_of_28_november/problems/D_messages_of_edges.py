import torch


class Model(torch.nn.Module):
    """Each edge sends its weight times its source's features to its target."""

    def forward(self, features, edges, weights):
        source, target = edges
        return torch.zeros_like(features).index_add(0, target, features[source] * weights.unsqueeze(1))


def get_inputs():
    return [torch.randn(1000, 32), torch.randint(0, 1000, (2, 12000)), torch.rand(12000)]


def get_init_inputs():
    return []
