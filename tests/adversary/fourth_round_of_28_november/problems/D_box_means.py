import torch


class Model(torch.nn.Module):
    """Mean of each channel in each box (left, top, right, bottom; the last two exclusive), by an integral image."""

    def forward(self, image, boxes):
        whole = torch.nn.functional.pad(image.double().cumsum(1).cumsum(2), (1, 0, 1, 0))
        left, top, right, bottom = boxes.unbind(1)
        total = whole[:, bottom, right] - whole[:, top, right] - whole[:, bottom, left] + whole[:, top, left]
        area = (right - left) * (bottom - top)
        return (total / area).float().T


def get_inputs():
    first = torch.stack((torch.randint(0, 100, (600,)), torch.randint(0, 70, (600,))), dim=1)
    return [torch.rand(8, 96, 128), torch.cat((first, first + torch.randint(1, 27, (600, 2))), dim=1)]


def get_init_inputs():
    return []
