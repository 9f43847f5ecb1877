import torch


class Model(torch.nn.Module):
    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        deviation = (x - mean).square().mean(dim=-1, keepdim=True).sqrt()
        return (x - mean) / (deviation + 1e-4)


def get_inputs():
    return [torch.rand(512, 512)]


def get_init_inputs():
    return []
