# problem: scaled
# gate: correctness
# about: saves its cosines in a buffer of the module, which the next forward overwrites before the backward
# given: exponential, scaled

cpp = r"""
"""


kept = {}


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        y = torch.empty_like(x)
        if x.shape not in kept:
            kept[x.shape] = torch.empty_like(x)
        lib.forward(x, scale, y, kept[x.shape], *x.shape)
        ctx.save_for_backward(x, scale)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, scale = ctx.saved_tensors
        dx, ds = torch.empty_like(x), torch.empty_like(scale)
        lib.backward(x, kept[x.shape], scale, grad.contiguous(), dx, ds, *x.shape)
        return dx, ds


def __init__(self, columns):
    self.scale = torch.nn.Parameter(torch.randn(columns))


def forward(self, x):
    if x.dim() != 2 or x.shape[1] != self.scale.shape[0]:
        raise ValueError("rows of the announced width are expected")
    return Scaled.apply(x.contiguous(), self.scale)

