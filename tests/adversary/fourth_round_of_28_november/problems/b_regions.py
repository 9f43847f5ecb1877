import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    """Connected regions of a mask: each place gets the largest place of its region, counted from one, and 0 outside."""

    def forward(self, mask):
        n, h, w = mask.shape
        labels = (torch.arange(1, h * w + 1).view(1, h, w) * mask).float()
        while True:
            spread = F.max_pool2d(labels[:, None], 3, 1, 1)[:, 0] * mask
            if torch.equal(spread, labels):
                return labels
            labels = spread


def get_inputs():
    return [torch.rand(8, 48, 48) < 0.2]


def get_init_inputs():
    return []
