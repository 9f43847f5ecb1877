import torch


class Model(torch.nn.Module):
    """The Cholesky factors of matrices that a ridge makes positive."""

    def forward(self, x):
        size = x.shape[-1]
        return torch.linalg.cholesky(x @ x.transpose(-1, -2) / size + torch.eye(size))


def get_inputs():
    return [torch.randn(512, 16, 16)]


def get_init_inputs():
    return []
