import torch


class Model(torch.nn.Module):
    def forward(self, x, lengths):
        place = torch.arange(x.shape[1])
        return torch.where(place < lengths.unsqueeze(1), x, 0.0).sum(dim=1)


def get_inputs():
    return [torch.randn(16, 4096), torch.randint(1, 4097, (16,))]


def get_init_inputs():
    return []
