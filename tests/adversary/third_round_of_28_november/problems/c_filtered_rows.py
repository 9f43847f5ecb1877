import torch


class Model(torch.nn.Module):
    """Rows through a filter, samples before the first one count as zero."""

    def forward(self, x, taps):
        before = torch.nn.functional.pad(x, (taps.numel() - 1, 0))
        return torch.nn.functional.conv1d(before[:, None], taps.flip(0)[None, None])[:, 0]


def get_inputs():
    return [torch.randn(128, 512), torch.randn(9)]


def get_init_inputs():
    return []
