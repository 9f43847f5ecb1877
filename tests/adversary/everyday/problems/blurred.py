import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        line = torch.tensor([1.0, 4.0, 6.0, 4.0, 1.0]) / 16
        self.register_buffer("kernel", torch.outer(line, line)[None, None], persistent=False)

    def forward(self, x):
        return torch.nn.functional.conv2d(x[:, None], self.kernel, padding=2)[:, 0]


def get_inputs():
    return [torch.randn(8, 160, 160)]
