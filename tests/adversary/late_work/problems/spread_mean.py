import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.mean(dim=-1, keepdim=True).expand(-1, 2048).contiguous()


def get_inputs():
    return [torch.randn(1024, 1024)]
