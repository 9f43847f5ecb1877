import torch


class Model(torch.nn.Module):
    """How many samples ago each channel was last loud."""

    def forward(self, x):
        places = torch.arange(1, x.shape[0] + 1)[:, None]
        last = torch.where(x.abs() > 1.5, places, torch.zeros_like(places)).cummax(dim=0).values
        return places - last


def get_inputs():
    return [torch.randn(8192, 64)]


def get_init_inputs():
    return []
