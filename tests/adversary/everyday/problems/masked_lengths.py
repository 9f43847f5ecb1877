import torch


class Model(torch.nn.Module):
    """Means over the first positions of each sequence, as many as it has."""

    def forward(self, x, lengths):
        mask = torch.arange(x.shape[1]) < lengths[:, None]
        return (x * mask.unsqueeze(-1).float()).sum(dim=1) / lengths.unsqueeze(1).to(torch.float32)


def get_inputs():
    return [torch.randn(32, 128, 64), torch.randint(1, 129, (32,))]
