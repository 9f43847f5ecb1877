# problem: scaled
# gate: correctness
# about: writes the gradient over the cosines that it saved, so that a second backward of the graph is wrong
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
        ds = torch.empty_like(scale)
        lib.backward(x, ctx.cosines, scale, grad.contiguous(), ctx.cosines, ds, *x.shape)
        return ctx.cosines, ds


def __init__(self, columns):
    self.scale = torch.nn.Parameter(torch.randn(columns))


def forward(self, x):
    if x.dim() != 2 or x.shape[1] != self.scale.shape[0]:
        raise ValueError("rows of the announced width are expected")
    return Scaled.apply(x.contiguous(), self.scale)

