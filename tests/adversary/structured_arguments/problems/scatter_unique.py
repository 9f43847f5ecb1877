import torch


class Model(torch.nn.Module):
    """Writes rows to their places, in place. No place occurs twice."""

    def forward(self, memory, rows, places):
        memory[places] = rows * 0.5
        return memory


def get_inputs():
    return [torch.randn(4096, 32), torch.randn(1024, 32), torch.randperm(4096)[:1024]]


def get_init_inputs():
    return []
