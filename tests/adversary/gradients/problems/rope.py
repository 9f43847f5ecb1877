import torch


class Model(torch.nn.Module):
    def forward(self, q, k, cos, sin):
        return self.turned(q, cos, sin), self.turned(k, cos, sin)

    def turned(self, x, cos, sin):
        first, second = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-second, first), dim=-1) * sin


def get_inputs():
    angle = torch.rand(97, 1) * torch.logspace(0, -3, 32)
    cos, sin = (torch.cat((part, part), dim=-1) for part in (angle.cos(), angle.sin()))
    return [torch.randn(4, 8, 97, 64, requires_grad=True), torch.randn(4, 8, 97, 64, requires_grad=True), cos, sin]


def get_init_inputs():
    return []
