# problem: c_silu_step
# about: the gradient has no graph: under create_graph a penalty on gradients trains nothing, and nobody says so

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
    def forward(ctx, x):
        y = torch.empty_like(x)
        lib.forward(x, y, x.numel())
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        dx = torch.empty_like(x)
        lib.backward(x, grad.contiguous(), dx, x.numel())
        return dx


def forward(self, x):
    return Silu.apply(x.contiguous())
