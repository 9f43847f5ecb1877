import torch


class Model(torch.nn.Module):
    def forward(self, points, centres):
        squares = (points[:, None] - centres[None]).square().sum(-1)
        return squares.min(dim=1).values.sqrt()


def get_inputs():
    return [torch.randn(2048, 3, dtype=torch.float64), torch.randn(64, 3, dtype=torch.float64)]
