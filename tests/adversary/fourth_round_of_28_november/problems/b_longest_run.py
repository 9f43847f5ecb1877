import torch


class Model(torch.nn.Module):
    """The longest stretch of a recording in which there is activity."""

    def forward(self, active):
        places = torch.arange(1, active.numel() + 1)
        last = torch.where(active, torch.zeros_like(places), places).cummax(dim=0).values
        return (places - last).max()


def get_inputs():
    return [torch.rand(500_000) < 0.5]


def get_init_inputs():
    return []
