import torch


class Model(torch.nn.Module):
    def forward(self, x, mask):
        m = mask.to(x.dtype).unsqueeze(-1)
        return (x * m).sum(dim=1) / m.sum(dim=1).clamp(min=1.0)


def get_inputs():
    lengths = torch.randint(1, 65, (32, 1))
    return [torch.randn(32, 64, 128), torch.arange(64) < lengths]


def get_init_inputs():
    return []
