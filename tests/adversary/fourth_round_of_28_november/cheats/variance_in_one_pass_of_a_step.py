# problem: C_norm_of_layers_step
# expect: remark imprecise where a mean is 300 standard deviations
# about: the mean of squares less the square of the mean, in one pass; of a step nobody says what that costs

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
#include <omp.h>
extern "C" void forward(const float* x, const float* w, const float* c, float* y, float* mean, float* scale,
                        int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float sum = 0, squares = 0;
    #pragma omp simd reduction(+ : sum, squares)
    for (int64_t i = 0; i < n; ++i) { sum += a[i]; squares += a[i] * a[i]; }
    const float m = sum / n, v = squares / n - m * m;
    const float s = 1.0f / std::sqrt((v > 0 || v != v ? v : 0.0f) + 1e-5f);
    mean[r] = m; scale[r] = s;
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = (a[i] - m) * s * w[i] + c[i];
  }
}
extern "C" void backward(const float* x, const float* w, const float* mean, const float* scale, const float* g, float* dx,
                         float* dw, float* db, int64_t rows, int64_t n) {
  const int most = omp_get_max_threads();
  std::vector<float> parts((size_t)most * 2 * n, 0.0f);
  #pragma omp parallel
  {
    float* own = parts.data() + (size_t)omp_get_thread_num() * 2 * n;
    float* two = own + n;
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      const float* a = x + r * n; const float* b = g + r * n;
      const float s = scale[r], m = mean[r];
      float dot = 0, sum = 0;
      #pragma omp simd reduction(+ : dot, sum)
      for (int64_t i = 0; i < n; ++i) { const float u = b[i] * w[i]; sum += u; dot += u * (a[i] - m) * s; }
      const float p = dot / n, q = sum / n;
      #pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        const float h = (a[i] - m) * s;
        dx[r * n + i] = s * (b[i] * w[i] - q - h * p);
        own[i] += b[i] * h; two[i] += b[i];
      }
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    double one = 0, other = 0;
    for (int t = 0; t < most; ++t) { one += parts[(size_t)t * 2 * n + i]; other += parts[(size_t)t * 2 * n + n + i]; }
    dw[i] = (float)one; db[i] = (float)other;
  }
}
"""


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        if x.shape[-1] != weight.numel():
            raise RuntimeError("rows of features")
        x = x.contiguous()
        y, mean = torch.empty_like(x), torch.empty(x.numel() // weight.numel())
        scale = torch.empty_like(mean)
        lib.forward(x, weight, bias, y, mean, scale, mean.numel(), weight.numel())
        ctx.save_for_backward(x, weight, mean, scale)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, weight, mean, scale = ctx.saved_tensors
        dx, dw, db = torch.empty_like(x), torch.empty_like(weight), torch.empty_like(weight)
        lib.backward(x, weight, mean, scale, grad.contiguous(), dx, dw, db, mean.numel(), weight.numel())
        return dx, dw, db


def __init__(self, features):
    self.weight = torch.nn.Parameter(torch.ones(features))
    self.bias = torch.nn.Parameter(torch.zeros(features))


def forward(self, x):
    return Norm.apply(x, self.weight, self.bias)
