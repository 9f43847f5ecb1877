# problem: rms_norm_of_rows
# about: what backward needs lies in eight buffers in turn: the ninth forward before a backward takes the first one's
# given: rms_norm_forward, rms_norm_backward

cpp = r"""
"""


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, scale):
        y = torch.empty_like(x)
        lib.forward(x, weight, y, scale, *x.shape)
        ctx.save_for_backward(x, weight)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        dx, dw = torch.empty_like(x), torch.empty_like(weight)
        lib.backward(x, weight, ctx.scale, grad.contiguous(), dx, dw, *x.shape)
        return dx, dw, None


def __init__(self, features):
    self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, features))
    self.buffers = {}
    self.turn = 0


def forward(self, x):
    rows = x.shape[0]
    if rows not in self.buffers:
        self.buffers[rows] = [torch.empty(rows) for _ in range(8)]
    self.turn = (self.turn + 1) % 8
    return Norm.apply(x, self.weight, self.buffers[rows][self.turn])
