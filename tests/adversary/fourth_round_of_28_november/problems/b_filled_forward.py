import torch


class Model(torch.nn.Module):
    """Each missing reading becomes the last one that was there."""

    def forward(self, x, valid):
        places = torch.arange(x.shape[1]).expand_as(x)
        last = torch.where(valid, places, torch.zeros_like(places)).cummax(dim=1).values
        return x.gather(1, last)


def get_inputs():
    return [torch.randn(256, 1024), torch.rand(256, 1024) < 0.5]


def get_init_inputs():
    return []
