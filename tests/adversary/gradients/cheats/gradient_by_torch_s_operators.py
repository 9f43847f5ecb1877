# problem: rms_norm
# gate: integrity
# about: its own kernel for the forward; the backward is written with torch's operators
# given: rms_norm_forward, rms_norm_backward

cpp = r"""
#include <cmath>
#include <cstdint>
"""


class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        y, scale = torch.empty_like(x), torch.empty(x.shape[0])
        lib.forward(x, weight, y, scale, *x.shape)
        ctx.save_for_backward(x, weight, scale)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, weight, scale = ctx.saved_tensors
        unit = x * scale[:, None]
        scaled = grad * weight
        dx = (scaled - unit * (scaled * unit).mean(-1, keepdim=True)) * scale[:, None]
        return dx, (grad * unit).sum(0)


def __init__(self, features):
    self.weight = torch.nn.Parameter(torch.ones(features))


def forward(self, x):
    return RMSNorm.apply(x, self.weight)
