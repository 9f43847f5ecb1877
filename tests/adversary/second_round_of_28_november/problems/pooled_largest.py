import torch


class Model(torch.nn.Module):
    def __init__(self, size, stride, padding, dilation):
        super().__init__()
        self.pool = torch.nn.MaxPool2d(size, stride, padding, dilation)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.randn(4, 16, 64, 64)]


def get_init_inputs():
    return [3, 2, 1, 1]
