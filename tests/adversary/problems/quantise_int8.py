import torch


class Model(torch.nn.Module):
    def forward(self, x, scale):
        return torch.clamp(torch.round(x / scale[:, None]), -127, 127).to(torch.int8)


def get_inputs():
    x = torch.randn(1024, 512)
    return [x, x.abs().amax(dim=-1) / 127]
