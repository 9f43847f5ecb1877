# problem: swiglu
# about: the gate recomputed in the backward, from the saved input

cpp = r"""
#include <cmath>
#include <cstdint>

extern "C" void forward(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* gate = x + r * 2 * n;
    const float* up = gate + n;
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = gate[i] / (1.0f + std::exp(-gate[i])) * up[i];
  }
}

extern "C" void backward(const float* x, const float* g, float* dx, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* gate = x + r * 2 * n;
    const float* up = gate + n;
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const float s = 1.0f / (1.0f + std::exp(-gate[i]));
      dx[r * 2 * n + i] = g[r * n + i] * up[i] * (s + gate[i] * s * (1.0f - s));
      dx[r * 2 * n + n + i] = g[r * n + i] * gate[i] * s;
    }
  }
}
"""


class SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        n = x.shape[-1] // 2
        y = torch.empty(*x.shape[:-1], n)
        lib.forward(x, y, y.numel() // max(n, 1), n)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        n = x.shape[-1] // 2
        dx = torch.empty_like(x)
        lib.backward(x, grad.contiguous(), dx, x.numel() // max(2 * n, 1), n)
        return dx


def forward(self, x):
    return SwiGLU.apply(x)
