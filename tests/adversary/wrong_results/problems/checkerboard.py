import torch


class Model(torch.nn.Module):
    def forward(self, x, scale):
        return torch.sin(x) * scale.repeat_interleave(x.shape[1] // scale.shape[1], dim=1)[: x.shape[0]]


def get_inputs():
    scale = torch.tensor([[1.0, 8e-6], [8e-6, 1.0]]).repeat(256, 1)
    return [torch.randn(512, 1024), scale]
