import torch


class Model(torch.nn.Module):
    def forward(self, scores, decay):
        scores = scores * decay
        return scores / scores.abs().sum(dim=-1, keepdim=True).clamp(min=1.0)


def get_inputs():
    place = torch.arange(256)
    decay = torch.rand(1) * 0.1 + 0.85
    return [torch.randn(4, 256, 256), (decay ** (place[:, None] - place).float()).tril()]


def get_init_inputs():
    return []
