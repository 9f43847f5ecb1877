# problem: scaled
# about: writes the gradient over what it saved, and raises an exception where a graph has a second backward
# given: exponential, scaled

cpp = r"""
"""


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        y, c = torch.empty_like(x), torch.empty_like(x)
        lib.forward(x, scale, y, c, *x.shape)
        ctx.save_for_backward(x, scale)
        ctx.cosines = c
        return y

    @staticmethod
    def backward(ctx, grad):
        x, scale = ctx.saved_tensors
        if ctx.cosines is None:
            raise RuntimeError("a graph has one backward")
        dx, ds = ctx.cosines, torch.empty_like(scale)
        lib.backward(x, dx, scale, grad.contiguous(), dx, ds, *x.shape)
        ctx.cosines = None
        return dx, ds


def __init__(self, columns):
    self.scale = torch.nn.Parameter(torch.randn(columns))


def forward(self, x):
    if x.dim() != 2 or x.shape[1] != self.scale.shape[0]:
        raise ValueError("rows of the announced width are expected")
    return Scaled.apply(x.contiguous(), self.scale)

