# problem: C_add_norm
# about: the gradients of both summands are one tensor, of which PyTorch makes a copy where that matters

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
#include <omp.h>
extern "C" void forward(const float* x, const float* z, const float* w, float* y, float* scale, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; const float* b = z + r * n;
    float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += (a[i] + b[i]) * (a[i] + b[i]);
    const float s = scale[r] = 1.0f / std::sqrt(sum / n + 1e-6f);
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = (a[i] + b[i]) * s * w[i];
  }
}
extern "C" void backward(const float* x, const float* z, const float* w, const float* scale, const float* g, float* dx,
                         float* dw, int64_t rows, int64_t n) {
  const int most = omp_get_max_threads();
  std::vector<float> parts((size_t)most * n, 0.0f);
  #pragma omp parallel
  {
    float* own = parts.data() + (size_t)omp_get_thread_num() * n;
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      const float* a = x + r * n; const float* c = z + r * n; const float* b = g + r * n;
      const float s = scale[r];
      float dot = 0;
      #pragma omp simd reduction(+ : dot)
      for (int64_t i = 0; i < n; ++i) dot += b[i] * w[i] * ((a[i] + c[i]) * s);
      const float mean = dot / n;
      #pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        const float h = (a[i] + c[i]) * s;
        dx[r * n + i] = s * (b[i] * w[i] - h * mean);
        own[i] += b[i] * h;
      }
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int t = 0; t < most; ++t) sum += parts[(size_t)t * n + i];
    dw[i] = (float)sum;
  }
}
"""


class AddNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, residual, weight):
        if x.shape != residual.shape or x.shape[-1] != weight.numel():
            raise ValueError("summands of one shape")
        x, residual, n = x.contiguous(), residual.contiguous(), x.shape[-1]
        y, scale = torch.empty_like(x), torch.empty(x.numel() // max(n, 1))
        lib.forward(x, residual, weight, y, scale, scale.numel(), n)
        ctx.save_for_backward(x, residual, weight, scale)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, residual, weight, scale = ctx.saved_tensors
        dx, dw = torch.empty_like(x), torch.empty_like(weight)
        lib.backward(x, residual, weight, scale, grad.contiguous(), dx, dw, scale.numel(), x.shape[-1])
        return dx, dx, dw


def __init__(self, features):
    self.weight = torch.nn.Parameter(torch.ones(features))


def forward(self, x, residual):
    return AddNorm.apply(x, residual, self.weight)
