# problem: D_norm_by_moments
# about: takes the mean off before it squares, which loses no digits; the backward makes the normalised row again

cpp = r"""
#include <cmath>
#include <cstdint>
#include <omp.h>
#include <vector>
extern "C" void forward(const float* x, const float* w, float* y, float* told, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float* to = y + r * n; float sum = 0, squares = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += a[i];
    const float mean = sum / (float)n;
    #pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < n; ++i) squares += (a[i] - mean) * (a[i] - mean);
    const float by = 1.0f / std::sqrt(squares / (float)n + 1e-5f);
    told[2 * r] = mean; told[2 * r + 1] = by;
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = (a[i] - mean) * by * w[i];
  }
}
extern "C" void backward(const float* x, const float* w, const float* told, const float* g, float* dx, float* dw, int64_t rows, int64_t n) {
  const int most = omp_get_max_threads();
  std::vector<double> sums(most * n, 0.0);
  #pragma omp parallel
  {
    double* own = sums.data() + omp_get_thread_num() * n;
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      const float *a = x + r * n, *c = g + r * n; const float mean = told[2 * r], by = told[2 * r + 1]; float s = 0, t = 0;
      #pragma omp simd reduction(+ : s, t)
      for (int64_t i = 0; i < n; ++i) { const float h = (a[i] - mean) * by, v = c[i] * w[i]; s += v; t += v * h; }
      s /= (float)n; t /= (float)n;
      #pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        const float h = (a[i] - mean) * by;
        dx[r * n + i] = by * (c[i] * w[i] - s - h * t);
        own[i] += (double)c[i] * h;
      }
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int t = 0; t < most; ++t) sum += sums[t * n + i];
    dw[i] = (float)sum;
  }
}
"""


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        n = weight.shape[0]
        if x.shape[-1] != n:
            raise ValueError("rows of the layer's width")
        x = x.contiguous()
        rows = x.numel() // n if n else 0
        y, told = torch.empty(x.shape), torch.empty(rows, 2)
        lib.forward(x, weight, y, told, rows, n)
        ctx.save_for_backward(x, weight, told)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, weight, told = ctx.saved_tensors
        dx, dw = torch.empty(x.shape), torch.empty(weight.shape)
        lib.backward(x, weight, told, grad.contiguous(), dx, dw, told.shape[0], weight.shape[0])
        return dx, dw


def __init__(self, d):
    self.weight = torch.nn.Parameter(torch.rand(d) + 0.5)


def forward(self, x):
    return Norm.apply(x, self.weight)
