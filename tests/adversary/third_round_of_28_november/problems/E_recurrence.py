import torch


class Model(torch.nn.Module):
    """A gated running sum: each state is the last one times a gate, plus an input."""

    def forward(self, gates, x):
        state, states = torch.zeros_like(x[:, 0]), []
        for t in range(x.shape[1]):
            state = gates[:, t].sigmoid() * state + x[:, t]
            states.append(state)
        return torch.stack(states, dim=1)


def get_inputs():
    return [torch.randn(8, 64, 256), torch.randn(8, 64, 256)]


def get_init_inputs():
    return []
