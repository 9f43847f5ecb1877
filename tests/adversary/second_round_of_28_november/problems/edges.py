import torch


class Model(torch.nn.Module):
    """The size of the gradient of images, after Sobel."""

    def __init__(self):
        super().__init__()
        across = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
        self.register_buffer("kernels", torch.stack((across, across.t()))[:, None])

    def forward(self, x):
        both = torch.nn.functional.conv2d(x, self.kernels, padding=1)
        return both.square().sum(dim=1, keepdim=True).sqrt()


def get_inputs():
    return [torch.rand(4, 1, 256, 256)]


def get_init_inputs():
    return []
