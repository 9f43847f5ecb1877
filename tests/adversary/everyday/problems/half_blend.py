import torch


class Model(torch.nn.Module):
    def forward(self, x, y, share, swap):
        one, other = (y, x) if swap else (x, y)
        return (one.float() * share + other.float() * (1.0 - share)).to(torch.float16)


def get_inputs():
    return [torch.randn(512, 512).half(), torch.randn(512, 512).half(), 0.3, True]
