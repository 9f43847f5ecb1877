import torch


class Model(torch.nn.Module):
    """Each channel's causal convolution with a filter as long as the sequence."""

    def forward(self, x, filters):
        n = x.shape[-1]
        both = torch.fft.rfft(x, 2 * n) * torch.fft.rfft(filters, 2 * n)
        return torch.fft.irfft(both, 2 * n)[..., :n]


def get_inputs():
    return [torch.randn(4, 32, 256), torch.randn(32, 256) * 0.1]


def get_init_inputs():
    return []
