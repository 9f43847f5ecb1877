import torch


class Model(torch.nn.Module):
    def forward(self, x, low, high, centre, mode):
        y = x.clamp(low, high) if mode == "clip" else torch.tanh(x / high) * high
        if centre:
            y = y - y.mean(dim=1, keepdim=True)
        return y


def get_inputs():
    return [torch.randn(512, 500), -1.5, 2.0, True, "clip"]
