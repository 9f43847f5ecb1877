import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return 2.0 - 2.0 * (x * y).sum(-1) / (x.norm(dim=-1) * y.norm(dim=-1))


def get_inputs():
    x, y = torch.randn(512, 768), torch.randn(512, 768)
    return [x / x.norm(dim=-1, keepdim=True), y / y.norm(dim=-1, keepdim=True)]


def get_init_inputs():
    return []
