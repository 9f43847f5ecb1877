import torch


class Model(torch.nn.Module):
    """Two unsigned 4-bit weights a byte, the low half first, with a scale and a zero point for each group of 32."""

    def forward(self, packed, scale, zero):
        low, high = packed & 15, packed >> 4
        weights = torch.stack((low, high), dim=-1).reshape(packed.shape[0], -1, 32)
        return ((weights.float() - zero.float().unsqueeze(-1)) * scale.float().unsqueeze(-1)).half().flatten(1)


def get_inputs():
    packed = torch.randint(0, 256, (512, 512), dtype=torch.uint8)
    zero = torch.randint(0, 16, (512, 32), dtype=torch.uint8)
    return [packed, (torch.rand(512, 32) * 0.1 + 0.01).half(), zero]
