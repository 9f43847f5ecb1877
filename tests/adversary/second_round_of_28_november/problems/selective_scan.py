import torch


class Model(torch.nn.Module):
    """The recurrence of a state space model, whose decay and gains depend on the step."""

    def forward(self, x, step, a, b, c):
        batch, length, features = x.shape
        state = x.new_zeros(batch, features, a.shape[1])
        outputs = []
        for t in range(length):
            width = torch.nn.functional.softplus(step[:, t])[..., None]
            state = torch.exp(width * a) * state + width * b[:, t, None] * x[:, t, :, None]
            outputs.append((state * c[:, t, None]).sum(dim=-1))
        return torch.stack(outputs, dim=1)


def get_inputs():
    x, step = torch.randn(4, 32, 64), torch.randn(4, 32, 64)
    return [x, step, -torch.rand(64, 16) - 0.1, torch.randn(4, 32, 16), torch.randn(4, 32, 16)]


def get_init_inputs():
    return []
