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
        dx, dw = torch.empty_like(x), torch.empty_like(weight)
        lib.backward(x, weight, scale, grad.contiguous(), dx, dw, *x.shape)
        return dx, dw
