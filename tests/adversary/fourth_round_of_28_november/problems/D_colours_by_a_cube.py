import torch


class Model(torch.nn.Module):
    """Colours by a table with three dimensions, between whose places is interpolated."""

    def forward(self, image, cube):
        size = cube.shape[0]
        at = image.clamp(0, 1) * (size - 1)
        low = at.floor().clamp(max=max(size - 2, 0))
        share = at - low
        r, g, b = low.long().unbind(1)
        total = torch.zeros_like(image.movedim(1, -1))
        for corner in range(8):
            x, y, z = corner >> 2 & 1, corner >> 1 & 1, corner & 1
            weight = torch.ones_like(share[:, 0])
            for axis, up in enumerate((x, y, z)):
                weight = weight * (share[:, axis] if up else 1 - share[:, axis])
            total = total + weight.unsqueeze(-1) * cube[r + x, g + y, b + z]
        return total.movedim(-1, 1).contiguous()


def get_inputs():
    return [torch.rand(2, 3, 96, 128), torch.rand(17, 17, 17, 3)]


def get_init_inputs():
    return []
