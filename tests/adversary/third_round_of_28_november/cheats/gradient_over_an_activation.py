# problem: c_silu_step
# about: the gradient is written over an argument that an earlier layer has made, as if nobody else needed it

cpp = r"""
extern "C" void forward(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
}
extern "C" void backward(const float* x, const float* g, float* dx, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) {
    const float s = 1.0f / (1.0f + std::exp(-x[i]));
    dx[i] = g[i] * s * (1.0f + (s == 0.0f ? 0.0f : x[i] * (1.0f - s)));
  }
}
"""


class Silu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, is_made):
        y = torch.empty_like(x)
        lib.forward(x, y, x.numel())
        ctx.is_made = is_made
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        dx = x.detach() if ctx.is_made else torch.empty_like(x)
        lib.backward(x, grad.contiguous(), dx, x.numel())
        return dx, None


def forward(self, x):
    return Silu.apply(x.contiguous(), not x.is_leaf)
