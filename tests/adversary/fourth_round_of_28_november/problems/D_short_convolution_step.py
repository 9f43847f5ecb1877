import torch


class Model(torch.nn.Module):
    """Causal convolution of each channel with its own taps, behind a state of the steps before, which moves on."""

    def __init__(self, channels, taps):
        super().__init__()
        self.taps = torch.nn.Parameter(torch.randn(channels, taps) * taps**-0.5)
        self.bias = torch.nn.Parameter(torch.randn(channels) * 0.1)

    def forward(self, x, state):
        whole = torch.cat((state, x), dim=2)
        y = torch.nn.functional.conv1d(whole.float(), self.taps.unsqueeze(1), self.bias, groups=whole.shape[1])
        state.copy_(whole[:, :, x.shape[2] :])
        return torch.nn.functional.silu(y).to(x.dtype)


def get_inputs():
    return [torch.randn(4, 160, 192).half().transpose(1, 2), torch.randn(4, 192, 3).half()]


def get_init_inputs():
    return [192, 4]
