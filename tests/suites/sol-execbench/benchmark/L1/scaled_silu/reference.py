import torch


@torch.no_grad()
def run(x, scale):
    return torch.nn.functional.silu(x) * scale
