import torch


class Model(torch.nn.Module):
    """Writes keys and values into pages, in place; a token whose slot is negative is padding."""

    def forward(self, keys, values, key_pages, value_pages, slots):
        kept = slots >= 0
        key_pages.flatten(0, 1)[slots[kept]] = keys[kept]
        value_pages.flatten(0, 1)[slots[kept]] = values[kept]
        return key_pages, value_pages


def get_inputs():
    slots = torch.randperm(64 * 16)[:256]
    slots[torch.rand(256) < 0.1] = -1
    tokens = [torch.randn(256, 4, 32) for _ in range(2)]
    return [*tokens, *[torch.randn(64, 16, 4, 32) for _ in range(2)], slots]


def get_init_inputs():
    return []
