# problem: rms_norm
# about: RMSNorm with both gradients in one pass over the rows

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
#include <omp.h>

extern "C" void forward(const float* x, const float* w, float* y, float* scale, int64_t rows, int64_t n, double eps) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += a[i] * a[i];
    const float s = 1.0f / std::sqrt(sum / n + (float)eps);
    scale[r] = s;
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = a[i] * s * w[i];
  }
}

extern "C" void backward(const float* x, const float* w, const float* scale, const float* g, float* dx, float* dw,
                         int64_t rows, int64_t n) {
  const int most = omp_get_max_threads();
  std::vector<float> parts((size_t)most * n, 0.0f);
  #pragma omp parallel
  {
    float* own = parts.data() + (size_t)omp_get_thread_num() * n;
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      const float* a = x + r * n;
      const float* b = g + r * n;
      const float s = scale[r];
      float dot = 0;
      #pragma omp simd reduction(+ : dot)
      for (int64_t i = 0; i < n; ++i) dot += b[i] * w[i] * a[i];
      const float c = dot * s * s * s / n;
      #pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        dx[r * n + i] = b[i] * w[i] * s - a[i] * c;
        own[i] += b[i] * a[i] * s;
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


class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        x = x.contiguous()
        n = x.shape[-1]
        y, scale = torch.empty_like(x), torch.empty(x.numel() // max(n, 1))
        lib.forward(x, weight, y, scale, scale.numel(), n, 1e-6)
        ctx.save_for_backward(x, weight, scale)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, weight, scale = ctx.saved_tensors
        dx, dw = torch.empty_like(x), torch.empty_like(weight)
        lib.backward(x, weight, scale, grad.contiguous(), dx, dw, scale.numel(), x.shape[-1])
        return dx, dw


def __init__(self, features):
    self.weight = torch.nn.Parameter(torch.ones(features))


def forward(self, x):
    return RMSNorm.apply(x, self.weight)
