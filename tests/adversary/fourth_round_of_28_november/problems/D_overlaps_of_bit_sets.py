import torch


class Model(torch.nn.Module):
    """How many bits each pair of sets shares, and how many either has; a set is a row of 64-bit words."""

    def forward(self, one, other):
        def count(words):
            words = words - ((words >> 1) & 0x5555555555555555)
            words = (words & 0x3333333333333333) + ((words >> 2) & 0x3333333333333333)
            words = (words + (words >> 4)) & 0x0F0F0F0F0F0F0F0F
            return ((words * 0x0101010101010101) >> 56).sum(-1)

        shared = count(one.unsqueeze(1) & other)
        return shared, count(one).unsqueeze(1) + count(other) - shared


def get_inputs():
    return [torch.randint(-(2**63), 2**63 - 1, (96, 8)), torch.randint(-(2**63), 2**63 - 1, (128, 8))]


def get_init_inputs():
    return []
