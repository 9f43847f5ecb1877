import torch


class Model(torch.nn.Module):
    """Median filter of images, three by three; the border is repeated."""

    def forward(self, images):
        wide = torch.nn.functional.pad(images, (1, 1, 1, 1), mode="replicate")
        return wide.unfold(2, 3, 1).unfold(3, 3, 1).flatten(4).median(dim=-1).values


def get_inputs():
    return [torch.rand(2, 3, 96, 96)]


def get_init_inputs():
    return []
