import torch


class Model(torch.nn.Module):
    """Counts the tokens of each expert, and where each token lies among those of its expert, up to a capacity."""

    def forward(self, experts, capacity):
        hot = torch.nn.functional.one_hot(experts, 16)
        place = (hot.cumsum(dim=0) * hot).sum(dim=-1) - 1
        return hot.sum(dim=0), torch.where(place < capacity, place, -1)


def get_inputs():
    return [torch.randint(0, 16, (8192,)), 400]


def get_init_inputs():
    return []
