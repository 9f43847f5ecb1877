import torch


def ref_kernel(data):
    return torch.linalg.qr(data)


def generate_input(size: int, seed: int):
    torch.manual_seed(seed)
    return torch.randn(size, size)


def check_implementation(data, output):
    q, r = output
    return bool(torch.allclose(q @ r, data, atol=1e-3)), ""
