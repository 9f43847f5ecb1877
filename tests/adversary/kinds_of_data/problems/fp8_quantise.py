import torch


class Model(torch.nn.Module):
    def forward(self, x):
        scale = x.abs().amax(dim=-1, keepdim=True).clamp_min(1e-12) / 448.0
        return (x / scale).to(torch.float8_e4m3fn), scale


def get_inputs():
    return [torch.randn(512, 1024)]
