# problem: leaky
# about: each graph has one memory for its gradient: a second backward changes what the first returned

cpp = r"""
extern "C" void forward(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > 0.0f ? x[i] : 0.1f * x[i];
}
extern "C" void backward(const float* sign, const float* g, float* dx, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) dx[i] = sign[i] > 0.0f ? g[i] : 0.1f * g[i];
}
"""


class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        lib.forward(x, y, x.numel())
        ctx.save_for_backward(x)
        ctx.dx = torch.empty_like(x)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        lib.backward(x, grad.contiguous(), ctx.dx, x.numel())
        return ctx.dx


def forward(self, x):
    return Leaky.apply(x)
