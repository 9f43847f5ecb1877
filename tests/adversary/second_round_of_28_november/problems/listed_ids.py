import torch


class Model(torch.nn.Module):
    def forward(self, ids, listed):
        return (ids.unsqueeze(-1) == listed).any(dim=-1)


def get_inputs():
    return [torch.randint(0, 100000, (16384,), dtype=torch.int32), torch.randint(0, 100000, (48,), dtype=torch.int32)]


def get_init_inputs():
    return []
