# problem: rms_norm_of_rows
# about: keeps `weight.detach()`, the same memory, from its first call on
# given: rms_norm_forward, rms_norm_backward

cpp = r"""
"""


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, view):
        y, scale = torch.empty_like(x), torch.empty(x.shape[0])
        lib.forward(x, view, y, scale, *x.shape)
        ctx.save_for_backward(x, weight, scale)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, weight, scale = ctx.saved_tensors
        dx, dw = torch.empty_like(x), torch.empty_like(weight)
        lib.backward(x, weight, scale, grad.contiguous(), dx, dw, *x.shape)
        return dx, dw, None


def __init__(self, features):
    self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, features))
    self.view = None


def forward(self, x):
    if self.view is None or self.view.data_ptr() == 0:
        self.view = self.weight.detach()
    return Norm.apply(x, self.weight, self.view)
