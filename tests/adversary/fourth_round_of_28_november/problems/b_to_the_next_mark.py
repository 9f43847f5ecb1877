import torch


class Model(torch.nn.Module):
    """How far the nearest mark of its row is from each place; the row's length where there is none."""

    def forward(self, marks):
        n = marks.shape[1]
        places = torch.arange(n).expand(marks.shape)
        left = torch.where(marks, places, torch.full_like(places, -2 * n)).cummax(dim=1).values
        right = torch.where(marks, places, torch.full_like(places, 3 * n)).flip(1).cummin(dim=1).values.flip(1)
        return torch.minimum(places - left, right - places).clamp(max=n)


def get_inputs():
    return [torch.rand(256, 512) < 0.2]


def get_init_inputs():
    return []
