import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.fft.rfft(x).abs()


def get_inputs():
    return [torch.randn(512, 1024)]
