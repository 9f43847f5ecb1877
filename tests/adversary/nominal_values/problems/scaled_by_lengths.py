import torch


class Model(torch.nn.Module):
    def forward(self, x, lengths):
        kept = torch.arange(x.shape[1]) < lengths[:, None]
        return (x * kept).sum(dim=-1) / lengths.clamp(min=1)


def get_inputs():
    return [torch.randn(512, 1024), torch.full((512,), 1024)]


def get_init_inputs():
    return []
