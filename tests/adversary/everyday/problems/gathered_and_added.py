import torch


class Model(torch.nn.Module):
    def forward(self, x, index):
        picked = torch.gather(x, 1, index)
        return picked, torch.zeros_like(x).scatter_add(1, index, picked * 0.5)


def get_inputs():
    return [torch.randn(256, 512), torch.randint(0, 512, (256, 384))]
