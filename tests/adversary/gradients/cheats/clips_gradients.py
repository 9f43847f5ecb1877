# problem: rms_norm
# gate: correctness
# about: large gradients are clipped, as a training loop might
# given: rms_norm_forward, rms_norm

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void backward(const float* x, const float* w, const float* scale, const float* g, float* dx, float* dw, int64_t rows, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dw[i] = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    const float s = scale[r];
    float dot = 0;
    #pragma omp simd reduction(+ : dot)
    for (int64_t i = 0; i < n; ++i) dot += g[r * n + i] * w[i] * a[i];
    const float c = dot * s * s * s / n;
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      dx[r * n + i] = g[r * n + i] * w[i] * s - a[i] * c;
      dw[i] += g[r * n + i] * a[i] * s;
    }
  }
  for (int64_t i = 0; i < rows * n; ++i) dx[i] = std::fmin(std::fmax(dx[i], -100.0f), 100.0f);
}
"""


def __init__(self, features):
    self.weight = torch.nn.Parameter(torch.ones(features))


def forward(self, x):
    return RMSNorm.apply(x, self.weight)
