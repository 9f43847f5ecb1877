import torch


class Model(torch.nn.Module):
    def forward(self, x, margin):
        y = x.clone()
        y.abs_().sub_(margin).clamp_(min=0)
        return y.mul_(x.sign())


def get_inputs():
    return [torch.randn(512, 512), 0.25]
