import torch


class Model(torch.nn.Module):
    """A linear layer whose weights are nibbles, with a scale and a zero point for each group of 32."""

    def forward(self, x, packed, scales, zeros):
        codes = torch.stack((packed & 15, packed >> 4), dim=-1).flatten(1).float()
        groups = codes.view(codes.shape[0], scales.shape[1], -1)
        weight = (groups - zeros.float().unsqueeze(-1)) * scales.unsqueeze(-1)
        return x @ weight.flatten(1).T


def get_inputs():
    return [
        torch.randn(64, 256),
        torch.randint(0, 256, (192, 128), dtype=torch.uint8),
        torch.rand(192, 8) * 0.1 + 0.01,
        torch.randint(0, 16, (192, 8), dtype=torch.uint8),
    ]


def get_init_inputs():
    return []
