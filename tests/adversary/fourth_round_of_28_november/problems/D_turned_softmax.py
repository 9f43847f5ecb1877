import torch


class Model(torch.nn.Module):
    """Softmax over channels of images that lie with channels last."""

    def forward(self, x, slopes):
        return torch.softmax(x * slopes.view(-1, 1, 1), dim=1)


def get_inputs():
    return [torch.randn(4, 64, 64, 24).permute(0, 3, 1, 2), torch.rand(24) + 0.5]


def get_init_inputs():
    return []
