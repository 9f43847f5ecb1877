import torch


class Model(torch.nn.Module):
    def forward(self, x, heads):
        parts = x.view(x.shape[0], heads, -1)
        size = parts.square().mean(dim=-1, keepdim=True)
        return (parts * torch.rsqrt(size + 1e-6)).view(x.shape)


def get_inputs():
    return [torch.randn(1024, 256), 8]


def get_init_inputs():
    return []
