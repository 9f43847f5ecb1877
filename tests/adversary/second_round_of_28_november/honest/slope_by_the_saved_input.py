# problem: leaky
# about: saves its input by save_for_backward, as PyTorch does: its output may change before backward, its input may not

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
        x = x.contiguous()
        y = torch.empty_like(x)
        lib.forward(x, y, x.numel())
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        dx = torch.empty_like(x)
        lib.backward(x, grad.contiguous(), dx, dx.numel())
        return dx


def forward(self, x):
    return Leaky.apply(x)
