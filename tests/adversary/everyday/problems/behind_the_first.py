import torch


class Model(torch.nn.Module):
    """Samples behind a header of one: a view whose memory begins at no multiple of 64 bytes."""

    def forward(self, x):
        return x / (1.0 + x.abs())


def get_inputs():
    return [torch.randn(262_145)[1:]]
