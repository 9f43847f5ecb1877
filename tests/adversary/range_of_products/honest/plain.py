# problem: product
# about: a product in float

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
static void multiply(const float* a, const float* b, float* y, int64_t m, int64_t k, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l) {
      const float v = a[i * k + l];
      #pragma omp simd
      for (int64_t j = 0; j < n; ++j) y[i * n + j] += v * b[l * n + j];
    }
}
extern "C" void run(const float* x, const float* w, float* y, int64_t m, int64_t k, int64_t n) {
  std::fill(y, y + m * n, 0.0f);
  multiply(x, w, y, m, k, n);
}
"""


def forward(self, x, w):
    y = torch.empty(x.shape[0], w.shape[1])
    lib.run(x, w, y, x.shape[0], x.shape[1], w.shape[1])
    return y
