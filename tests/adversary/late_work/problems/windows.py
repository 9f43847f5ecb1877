import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x).unfold(-1, 16, 1).contiguous()


def get_inputs():
    return [torch.randn(64, 2048)]
