import torch


class Model(torch.nn.Module):
    """Exponential averages along time; each channel has a gate of its own, trained."""

    def __init__(self, channels):
        super().__init__()
        self.gate = torch.nn.Parameter(torch.empty(channels).uniform_(-3.0, -1.5))

    def forward(self, x):
        stay = self.gate.sigmoid()
        state, states = torch.zeros_like(x[:, :, 0]), []
        for t in range(x.shape[2]):
            state = stay * state + (1 - stay) * x[:, :, t]
            states.append(state)
        return torch.stack(states, dim=2)


def get_inputs():
    return [torch.randn(16, 64, 128)]


def get_init_inputs():
    return [64]
