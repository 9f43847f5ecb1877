import torch


class Model(torch.nn.Module):
    """Batch norm in training, whose running statistics are arguments that change in place; variances are positive."""

    def forward(self, x, mean, variance, weight, bias, momentum=0.1):
        return torch.nn.functional.batch_norm(x, mean, variance, weight, bias, True, momentum, 1e-5)


def get_inputs():
    return [torch.randn(1024, 128), torch.randn(128), torch.rand(128) + 0.5, torch.rand(128) + 0.5, torch.randn(128)]


def get_init_inputs():
    return []
