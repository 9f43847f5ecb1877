# problem: layer_norm
# about: mean and deviation are saved, gradients of scale and shift summed by thread

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
#include <omp.h>

extern "C" void forward(const float* x, const float* w, const float* b, float* y, float* stats, int64_t rows, int64_t n,
                        double eps) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float sum = 0, squares = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += a[i];
    const float mean = sum / n;
    #pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < n; ++i) squares += (a[i] - mean) * (a[i] - mean);
    const float s = 1.0f / std::sqrt(squares / n + (float)eps);
    stats[2 * r] = mean;
    stats[2 * r + 1] = s;
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = (a[i] - mean) * s * w[i] + b[i];
  }
}

extern "C" void backward(const float* x, const float* w, const float* stats, const float* g, float* dx, float* dw,
                         float* db, int64_t rows, int64_t n) {
  const int most = omp_get_max_threads();
  std::vector<float> parts((size_t)most * 2 * n, 0.0f);
  #pragma omp parallel
  {
    float* own = parts.data() + (size_t)omp_get_thread_num() * 2 * n;
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      const float* a = x + r * n;
      const float* c = g + r * n;
      const float mean = stats[2 * r], s = stats[2 * r + 1];
      float plain = 0, dot = 0;
      #pragma omp simd reduction(+ : plain, dot)
      for (int64_t i = 0; i < n; ++i) {
        const float scaled = c[i] * w[i];
        plain += scaled;
        dot += scaled * (a[i] - mean) * s;
      }
      plain /= n;
      dot /= n;
      #pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        const float unit = (a[i] - mean) * s;
        dx[r * n + i] = (c[i] * w[i] - plain - unit * dot) * s;
        own[i] += c[i] * unit;
        own[n + i] += c[i];
      }
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    double first = 0, second = 0;
    for (int t = 0; t < most; ++t) {
      first += parts[(size_t)t * 2 * n + i];
      second += parts[(size_t)t * 2 * n + n + i];
    }
    dw[i] = (float)first;
    db[i] = (float)second;
  }
}
"""


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        n = x.shape[-1]
        y, stats = torch.empty_like(x), torch.empty(x.numel() // max(n, 1), 2)
        lib.forward(x, weight, bias, y, stats, stats.shape[0], n, eps)
        ctx.save_for_backward(x, weight, stats)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, weight, stats = ctx.saved_tensors
        dx, dw, db = torch.empty_like(x), torch.empty_like(weight), torch.empty_like(weight)
        lib.backward(x, weight, stats, grad.contiguous(), dx, dw, db, stats.shape[0], x.shape[-1])
        return dx, dw, db, None


def __init__(self, features):
    self.norm = torch.nn.LayerNorm(features)


def forward(self, x):
    return LayerNorm.apply(x, self.norm.weight, self.norm.bias, self.norm.eps)
