import torch


class Model(torch.nn.Module):
    def forward(self, x, labels):
        present = torch.nn.functional.one_hot(labels, 10).amax(dim=0)
        return x * present


def get_inputs():
    return [torch.randn(512, 10), torch.randint(0, 10, (200_000,))]


def get_init_inputs():
    return []
