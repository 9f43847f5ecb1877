import torch


class Model(torch.nn.Module):
    """Which boxes stay where the better of two that overlap by more than a share hides the other; the best ones first."""

    def forward(self, boxes, share):
        left, top, wide, high = boxes.unbind(dim=1)
        right, bottom = left + wide.abs(), top + high.abs()
        across = torch.minimum(right[:, None], right) - torch.maximum(left[:, None], left)
        below = torch.minimum(bottom[:, None], bottom) - torch.maximum(top[:, None], top)
        both = across.clamp(min=0) * below.clamp(min=0)
        area = (right - left) * (bottom - top)
        hides = both > share * (area[:, None] + area - both)
        keep = torch.ones(boxes.shape[0], dtype=torch.bool)
        for i in range(boxes.shape[0]):
            if keep[i]:
                keep[i + 1 :] &= ~hides[i, i + 1 :]
        return keep


def get_inputs():
    return [torch.rand(128, 4) + 0.1, 0.5]


def get_init_inputs():
    return []
