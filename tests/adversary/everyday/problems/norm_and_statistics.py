import torch


class Model(torch.nn.Module):
    def forward(self, x):
        mean = x.mean(dim=1, keepdim=True)
        rstd = torch.rsqrt(x.var(dim=1, unbiased=False, keepdim=True) + 1e-5)
        return (x - mean) * rstd, (mean, [rstd])


def get_inputs():
    return [torch.randn(512, 384) * 3 + 2]
