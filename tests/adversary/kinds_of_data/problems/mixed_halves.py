import torch


class Model(torch.nn.Module):
    def forward(self, x, y, bias):
        return torch.nn.functional.silu(x.float() + bias) * y.float()


def get_inputs():
    return [torch.randn(512, 1024).bfloat16(), torch.randn(512, 1024).half(), torch.randn(1024)]
